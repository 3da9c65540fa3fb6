"""A log that a program may read up to a place, and later on from there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.connector import (
    Budget,
    JsonValue,
    Progress,
    Source,
    SplitEnumerator,
    SplitRange,
    SplitReader,
)
from headrace.datastream.connectors._indexed import IndexedEnumerator, IndexedReader


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


@dataclass(frozen=True)
class SplitLog(Source):
    """Several logs, each of them a split; all of them are read at a time."""

    splits: tuple[tuple[Any, ...], ...]

    @property
    def bounded(self) -> bool:
        return True

    def enumerator(self, directory: str) -> SplitEnumerator:
        return _SplitLogEnumerator(self.splits)

    def reader(self) -> SplitReader:
        return IndexedReader(lambda r, at, to: list(r.payload[at - r.start : to - r.start]))


class _SplitLogEnumerator(SplitEnumerator):
    """Shares a budget out among the splits that go on; the first of them get what is odd."""

    def __init__(self, splits: Sequence[tuple[Any, ...]]) -> None:
        self._splits = [
            IndexedEnumerator(
                f"log {number}", len(records), lambda start, end, of=records: of[start:end]
            )
            for number, records in enumerate(splits)
        ]

    def initial(self, now_ms: int) -> Mapping[str, JsonValue]:
        return {split: at for each in self._splits for split, at in each.initial(now_ms).items()}

    def advance(
        self,
        positions: Mapping[str, JsonValue],
        budget: Budget,
        now_ms: int,
        paused: frozenset[str],
    ) -> Progress:
        going_on = [each for each in self._splits if each.split in positions]
        reached: dict[str, JsonValue] = {}
        finished: dict[str, JsonValue] = {}
        left = budget.max_records
        for number, each in enumerate(going_on):
            share = -(-left // (len(going_on) - number))
            if share <= 0:
                reached[each.split] = positions[each.split]
                continue
            left -= share
            found = each.advance(positions, Budget(share, budget.max_bytes), now_ms, paused)
            reached |= found.positions
            assert isinstance(found.finished, Mapping) or not found.finished
            finished |= dict(found.finished)  # type: ignore[arg-type]
        return Progress(reached, finished, ended=not reached)

    def ranges(
        self, start: Mapping[str, JsonValue], end: Mapping[str, JsonValue], finished: frozenset[str]
    ) -> Sequence[SplitRange]:
        return [found for each in self._splits for found in each.ranges(start, end, finished)]
