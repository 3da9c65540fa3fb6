"""A log that a program may read up to a place, and later on from there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.connector import Source, SplitEnumerator, SplitReader
from headrace.datastream.connectors.indexed import IndexedEnumerator, IndexedReader


@dataclass(frozen=True)
class Log(Source):
    """Its records, or those before ``stop``; the position is the index of the next one."""

    records: tuple[Any, ...]
    stop: int | None = None

    @property
    def bounded(self) -> bool:
        return True

    @property
    def stops_at(self) -> str:
        return "" if self.stop is None else str(self.stop)

    def enumerator(self, directory: str) -> SplitEnumerator:
        records = self.records if self.stop is None else self.records[: self.stop]
        return IndexedEnumerator("log", len(records), lambda start, end: self.records[start:end])

    def reader(self) -> SplitReader:
        return IndexedReader(lambda r, at, to: list(r.payload[at - r.start : to - r.start]))
