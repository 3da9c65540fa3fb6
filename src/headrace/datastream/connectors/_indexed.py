"""Planning and reading of sources whose records are computed from an index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.connector import (
    Budget,
    Chunk,
    ColumnChunk,
    JsonValue,
    Pending,
    Progress,
    SplitEnumerator,
    SplitRange,
    SplitReader,
)
from headrace.datastream.formats._file_format import CHUNK_RECORDS, COLUMNS_RECORDS

RANGE_RECORDS = 4 * CHUNK_RECORDS
"""The maximum length of a range, so that the records of one split are spread over tasks."""


@dataclass
class IndexedEnumerator(SplitEnumerator):
    """One split of records 0, 1, … ``count``; the position is the index of the next record.

    ``payload`` returns what the reader needs for (start, end). With a rate the position is
    ``[index, start_ms]``, and only records that are due by ``now_ms`` are planned. ``in_columns``:
    records are made in large batches, so ranges are longer.

    Only ``Budget.max_records`` applies: the size of a record that is not made yet is unknown.
    """

    split: str
    count: int | None
    payload: Callable[[int, int], Any]
    rate_per_second: float | None = None
    in_columns: bool = False

    def initial(self, now_ms: int) -> Mapping[str, JsonValue]:
        """Return the split at its first record."""
        return {self.split: self._make_position(0, now_ms)}

    def advance(
        self,
        positions: Mapping[str, JsonValue],
        budget: Budget,
        now_ms: int,
        paused: frozenset[str],
    ) -> Progress:
        """Move the position by as many records as the budget and the configured rate allow."""
        if self.split not in positions:
            return Progress({}, ended=True)
        position = positions[self.split]
        if self.split in paused:
            return Progress({self.split: position})
        index, start_ms = self._split_position(position)
        end = index + max(budget.max_records, 1)
        if self.rate_per_second is not None:
            end = max(min(end, self.count_due_records(now_ms - start_ms)), index)
        if self.count is not None and end >= self.count:
            last = self._make_position(self.count, start_ms)
            return Progress({}, {self.split: last}, ended=True)
        return Progress({self.split: self._make_position(end, start_ms)})

    def count_due_records(self, elapsed_ms: int) -> int:
        """Return the number of records that are due by a time since the start."""
        assert self.rate_per_second is not None
        return int(elapsed_ms * self.rate_per_second / 1000)

    def ranges(
        self, start: Mapping[str, JsonValue], end: Mapping[str, JsonValue], finished: frozenset[str]
    ) -> Sequence[SplitRange]:
        """Return the records between two indexes, in ranges of at most ``RANGE_RECORDS``."""
        if self.split not in start:
            return []
        first, _ = self._split_position(start[self.split])
        last, _ = self._split_position(end[self.split])
        step = COLUMNS_RECORDS if self.in_columns else RANGE_RECORDS
        return [
            SplitRange(self.split, at, to, self.payload(at, to), to - at)
            for at in range(first, last, step)
            for to in (min(at + step, last),)
        ]

    def pending(self, positions: Mapping[str, JsonValue]) -> Pending:
        """Return the number of remaining records; unknown if the source has no end."""
        if self.count is None:
            return Pending()
        at = positions.get(self.split)
        return Pending(0 if at is None else self.count - self._split_position(at)[0])

    def _make_position(self, index: int, start_ms: int) -> JsonValue:
        return index if self.rate_per_second is None else [index, start_ms]

    def _split_position(self, position: JsonValue) -> tuple[int, int]:
        return (position, 0) if self.rate_per_second is None else (position[0], position[1])


@dataclass
class IndexedReader(SplitReader):
    """Reads ranges of indexes through ``values(range, start, end)``."""

    values: Callable[[SplitRange, int, int], list[Any]]
    columns: Callable[[int, int], ColumnChunk] | None = None
    """Gives the records between two indexes as columns."""

    def read(self, split_range: SplitRange) -> Iterator[Chunk]:
        """Yield the records of one range, in chunks."""
        end = split_range.end
        for at in range(split_range.start, end, CHUNK_RECORDS):
            yield Chunk(self.values(split_range, at, min(at + CHUNK_RECORDS, end)))

    def read_columns(self, split_range: SplitRange) -> Iterator[Chunk | ColumnChunk] | None:
        """Return the records as columns, if the source makes columns."""
        make, end = self.columns, split_range.end
        if make is None:
            return None
        starts = range(split_range.start, end, COLUMNS_RECORDS)
        return (make(at, min(at + COLUMNS_RECORDS, end)) for at in starts)

    @property
    def has_columns(self) -> bool:
        """Whether the source makes columns."""
        return self.columns is not None
