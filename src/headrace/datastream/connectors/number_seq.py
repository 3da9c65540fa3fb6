"""A source of consecutive integers."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.connector import Source, SplitEnumerator, SplitReader
from headrace.datastream.connectors._indexed import IndexedEnumerator, IndexedReader
from headrace.errors import PlanError

__all__ = [
    "NumberSequenceSource",
]


@dataclass(frozen=True)
class NumberSequenceSource(Source):
    """Generates the integers from ``start`` to ``end``, both inclusive, in ascending order."""

    start: int
    end: int

    @property
    def kind(self) -> str:
        return "number-sequence"

    def __post_init__(self) -> None:
        if self.start > self.end:
            raise PlanError(f"a number sequence cannot run from {self.start} down to {self.end}")

    @property
    def bounded(self) -> bool:
        """True: the source ends after ``end``."""
        return True

    @property
    def fingerprint(self) -> str | None:
        """The start, from which positions count; a changed start invalidates a checkpoint."""
        return f"from {self.start}"

    def enumerator(self, directory: str) -> SplitEnumerator:
        """Return a new enumerator, which writes no files."""
        return IndexedEnumerator("sequence", self.end - self.start + 1, lambda start, end: None)

    def reader(self) -> SplitReader:
        first = self.start
        return IndexedReader(lambda _, at, to: list(range(first + at, first + to)))
