"""Counting what a job gives out, in as many processes as it likes; standard library only."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FIELDS: dict[str, tuple[int, ...]] = {
    "a": (0, 1, 2),
    "b": (0, 1),
    "c": (0, 1, 2),
    "d": (0, 2),
    "e": (0,),
    "j": (0, 1, 2),
    "p": (0, 1, 2),
    "r": (0, 1, 2),
    "w": (0, 1, 2),
}
"""Which fields of an output are added up, by the first letter of the job.

Of windows the outputs are (key, count, sum), those of ``csvw`` included; of patterns (key, small
value, large value).
"""


class Tally:
    """Counts outputs. Called with a list of them it writes its count down at once."""

    def __init__(self, job: str, folder: str) -> None:
        self.fields, self.folder = FIELDS[job[0]], folder

    def __call__(self, values: Sequence[Any]) -> None:
        """Count outputs that came together."""
        sums = [sum([value[field] for value in values]) for field in self.fields]
        self.note([len(values), *sums])

    def note(self, numbers: Sequence[int]) -> None:
        """Write a count down in this process's file."""
        with (Path(self.folder) / f"tally-{os.getpid()}").open("a") as file:
            file.write(json.dumps(list(numbers)) + "\n")

    def total(self) -> list[int]:
        """What all processes have counted."""
        total = [0] * (1 + len(self.fields))
        for path in Path(self.folder).glob("tally-*"):
            for line in path.read_text().splitlines():
                total = [a + b for a, b in zip(total, json.loads(line), strict=True)]
        return total


class Counter:
    """The same for outputs that come one by one: ``add`` each, ``close`` at the end."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._numbers = [0] * (1 + len(tally.fields))

    def add(self, value: Any) -> None:
        """Count one output."""
        numbers = self._numbers
        numbers[0] += 1
        for at, field in enumerate(self._tally.fields, 1):
            numbers[at] += value[field]

    def close(self) -> None:
        """Write the count down."""
        self._tally.note(self._numbers)
        self._numbers = [0] * len(self._numbers)


class LastByKey:
    """Counts keys, for job ``csv``: of the outputs (key, sum, time) of a key the last one counts.

    A stream gives out every sum on the way, a batch the last; what is left in the end is the same.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def columns(self, batch: Any) -> None:
        """Note the last sum of each key in a pyarrow record batch: ``value`` by ``key``."""
        import pyarrow as pa

        last = pa.Table.from_batches([batch]).group_by("key").aggregate([("value", "max")])
        self.note(dict(zip(last["key"].to_pylist(), last["value_max"].to_pylist(), strict=True)))

    def note(self, sums: Mapping[int, int]) -> None:
        """Write sums by their keys down in this process's file."""
        with (Path(self.folder) / f"last-{os.getpid()}").open("a") as file:
            file.write(json.dumps(list(sums.items())) + "\n")

    def total(self) -> list[int]:
        """The number of keys, their sum, and that of their last sums.

        Values are not below 0, so a key's last sum is its largest.
        """
        last: dict[int, int] = {}
        for path in Path(self.folder).glob("last-*"):
            for line in path.read_text().splitlines():
                for key, found in json.loads(line):
                    last[key] = max(found, last.get(key, 0))
        return [len(last), sum(last), sum(last.values())]
