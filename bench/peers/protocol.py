"""What a peer is asked on its command line, and the one JSON line that it answers."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.tally import LastByKey, Tally


@dataclass(frozen=True)
class Task:
    """One run: a job over so many records, with the peer's own options."""

    job: str
    records: int
    keys: int
    distribution: str
    options: Mapping[str, str]
    scratch: Path
    """Where made input is kept between runs."""
    folder: Path
    """Empty, and removed after the run."""

    def option(self, name: str, default: str) -> str:
        """One of the peer's options."""
        return self.options.get(name, default)

    @property
    def tally(self) -> Tally | LastByKey:
        """Counts the job's outputs."""
        folder = str(self.folder)
        return LastByKey(folder) if self.job == "csv" else Tally(self.job, folder)


@dataclass
class Outcome:
    """What a run took; ``seconds`` are the job's own, from handing it over to its end."""

    seconds: float
    tally: list[int]
    facts: dict[str, Any] = field(default_factory=dict)


def task_from(arguments: list[str], folder: Path) -> Task:
    """The run that a command line asks for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--job", required=True)
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--distribution", default="uniform")
    parser.add_argument("--scratch", type=Path, default=Path("build/bench"))
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    asked = parser.parse_args(arguments)
    options = dict(option.split("=", 1) for option in asked.option)
    scratch = asked.scratch.resolve()
    return Task(asked.job, asked.records, asked.keys, asked.distribution, options, scratch, folder)


def answer(run: Callable[[Task], Outcome]) -> None:
    """Run what the command line asks for and print the answer, last, on a line of its own."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="bench-")))
        task = task_from(sys.argv[1:], folder)
        outcome = run(task)
    line = {
        "job": task.job,
        "records": task.records,
        "keys": task.keys,
        "distribution": task.distribution,
        "options": dict(task.options),
        "seconds": round(outcome.seconds, 4),
        "tally": outcome.tally,
        **({"facts": outcome.facts} if outcome.facts else {}),
    }
    print("\n" + json.dumps(line), flush=True)


def options() -> dict[str, str]:
    """What a peer is told by ``NAME=VALUE`` on its command line, in place of a ``Task``."""
    return dict(argument.split("=", 1) for argument in sys.argv[1:])
