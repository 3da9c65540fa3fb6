"""What ``fault_table`` does to jobs: the steps, the processes, and the strikes of a seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any

STEPS: dict[str, Sequence[str]] = {
    "planning": ("plan", "offsets"),
    "shuffle": ("map", "reduce"),
    "state commit": ("state",),
    "sink prepare": ("prepare",),
    "sink commit": ("commit", "committed"),
    "savepoint": ("pins", "saved"),
    "rescale": ("generation", "generation's offsets"),
}
"""By step, the moments that seeds take in turn; Kafka's sink has ``prepared`` for both commits."""
MOMENTS = {
    "plan": "before the end of the micro-batch is decided",
    "offsets": "its offsets are logged",
    "map": "a task of the first stage writes its shuffle",
    "reduce": "a task of the second stage has read its shuffle",
    "state": "the first state of the micro-batch is committed",
    "prepare": "a writer has its records",
    "prepared": "a writer has committed its transaction, and Spark does not know",
    "commit": "a committer is about to publish",
    "committed": "a committer has published",
    "pins": "the micro-batch is pinned for a savepoint",
    "saved": "the savepoint's folder is there",
    "generation": "the folder of the next generation is there",
    "generation's offsets": "its first offsets are logged",
}
PROCESSES = ("driver", "JVM", "executor", "worker")
FAULTS = ("killed", "stopped")
OTHERS: Sequence[tuple[str, str, str]] = (
    ("speculative twin", "task", "slow"),
    ("zombie driver", "driver", "stopped"),
    ("checkpoint file", "file", "corrupt"),
    ("checkpoint file", "file", "missing"),
    ("checkpoint file", "folder", "unwritable"),
    ("two faults", "driver and worker", "killed"),
    ("two faults", "JVM and worker", "stopped"),
)


@dataclass(frozen=True)
class Strike:
    """One cell of the table, for one seed: it plans the moment, the file, and who is struck."""

    step: str
    process: str
    fault: str
    form: str
    seed: int
    number: int

    @property
    def chance(self) -> random.Random:
        """The random numbers of this strike."""
        return random.Random(
            f"{self.seed} {self.number} {self.step} {self.process} {self.fault} {self.form}"
        )

    @property
    def moment(self) -> str:
        """When it strikes; Kafka's sink has no committer, it commits where it prepares."""
        if self.step == "speculative twin":
            return ("map", "prepare", "prepared")[self.number % 3]
        if self.step not in STEPS:
            commit = "prepared" if self.form == "kafka" else "commit"
            return self.chance.choice(("map", "state", "prepare", commit))
        if self.form == "kafka" and self.step == "sink commit":
            return "prepared"
        moments = STEPS[self.step]
        return moments[self.number % len(moments)]


@dataclass
class Outcome:
    """What came of a strike. ``fault`` is empty if the results of its job are exact."""

    step: str
    process: str
    fault: str
    form: str
    seed: int
    number: int
    moment: str
    strikes_of_job: int
    seconds: float
    starts: int
    what: str
    difference: str

    @property
    def line(self) -> str:
        """The outcome in one line."""
        what = f" ({self.what})" if self.what else ""
        return (
            f"{self.step:16} {self.process:17} {self.fault:10} {self.form:5} seed {self.seed}"
            f"/{self.number} {self.seconds:4.0f} s, {self.starts} starts: {self.moment}{what}:"
            f" {self.difference or 'exact'}"
        )


def planned(seed: int, seeds: int, only: str | None = None, first: int = 0) -> list[Strike]:
    """The strikes of a seed; for each second one the job has Kafka at both ends."""
    cells = [
        *((step, process, fault) for step in STEPS for process in PROCESSES for fault in FAULTS),
        *OTHERS,
    ]
    return [
        Strike(*cell, "kafka" if (place + number) % 2 else "files", seed, number)
        for number in range(first, seeds)
        for place, cell in enumerate(cells)
        if only is None or fnmatch("/".join(cell), f"{only}*")
    ]


def grouped(strikes: Sequence[Strike], together: bool) -> list[list[Strike]]:
    """The strikes of each job."""
    if not together:
        return [[strike] for strike in strikes]
    groups: dict[tuple[Any, ...], list[Strike]] = {}
    for strike in strikes:
        alone = () if strike.step in STEPS else (strike.step,)
        of_one_job = (strike.process, strike.fault, strike.form, strike.number, *alone)
        groups.setdefault(of_one_job, []).append(strike)
    return [*groups.values()]


SHORT = [
    Strike(step, "worker", "killed", "files", 5, 0 if step != "planning" else 1) for step in STEPS
]
"""One job, one strike at each step."""
