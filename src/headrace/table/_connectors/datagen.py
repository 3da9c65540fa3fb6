"""``datagen``: generated rows, computed from their index."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

from headrace.common._options.values import ValueKind
from headrace.connector import (
    Budget,
    Chunk,
    ColumnChunk,
    JsonValue,
    Pending,
    Progress,
    Source,
    SplitEnumerator,
    SplitRange,
    SplitReader,
)
from headrace.datastream.connectors._indexed import IndexedEnumerator
from headrace.datastream.formats._file_format import COLUMNS_RECORDS
from headrace.errors import SqlValidationError
from headrace.runtime.columns.shapes import NAMED_ROWS
from headrace.sql.rel import Columns
from headrace.table._connectors.chunks import as_rows
from headrace.table._connectors.connector import (
    Connector,
    TableRequest,
    TableSource,
    refuse_to_write,
    refuse_watermark_options,
)
from headrace.table._connectors.datagen_options import counted_rows, field_options, field_settings
from headrace.table._connectors.generated import FieldSettings, Rows, field_array
from headrace.table._options import TableOption, read_options

if TYPE_CHECKING:
    import numpy as np

_RATE = TableOption("rows-per-second", ValueKind.LONG, 10_000)
_ROWS = TableOption("number-of-rows", ValueKind.LONG)
_PARALLELISM = TableOption("scan.parallelism", ValueKind.INT)
_UNPACED = 100_000_000
"""A rate that no source reaches."""
_SPLIT = "rows"


class DatagenConnector(Connector):
    """Tables that are only read, with random or counted values."""

    identifier = "datagen"

    def source(self, request: TableRequest) -> TableSource:
        """Return a source of generated rows; it ends if a number of rows or a sequence does."""
        declared = [_RATE, _ROWS, _PARALLELISM]
        refuse_watermark_options(request)
        for column in request.columns:
            declared += field_options(f"fields.{column.name}", column.type, request.options)
        found = read_options(request.name, request.options, declared)
        fields = tuple(
            field_settings(request.name, f"fields.{column.name}", column.type, found)
            for column in request.columns
        )
        if request.batch and found["number-of-rows"] is None:
            raise SqlValidationError(
                f"table {request.name!r} is unbounded, but a batch needs bounded tables",
                hint="set its number of rows: 'number-of-rows' = '…'",
            )
        counts = counted_rows(fields)
        if found["number-of-rows"] is not None:
            counts.append(found["number-of-rows"])
        rate = found["rows-per-second"]
        paced = 0 < rate < _UNPACED
        count = max(min(counts), 0) if counts else None
        return TableSource(
            DatagenSource(request.columns, fields, count, float(rate) if paced else None)
        )

    def sink(self, request: TableRequest) -> NoReturn:
        """Refuse: the table can only be read."""
        refuse_to_write(request, self.identifier)


@dataclass(frozen=True)
class DatagenSource(Source):
    """Rows 0, 1, … of generated columns."""

    columns: Columns
    fields: tuple[FieldSettings, ...]
    count: int | None = None
    rate_per_second: float | None = None

    @property
    def kind(self) -> str:
        return "datagen" if self.rate_per_second is None else "paced-datagen"

    @property
    def bounded(self) -> bool:
        return self.count is not None

    def enumerator(self, directory: str) -> SplitEnumerator:
        inner = IndexedEnumerator(
            _SPLIT, self.count, lambda start, end: None, self.rate_per_second, in_columns=True
        )
        return TimedEnumerator(inner)

    def reader(self) -> SplitReader:
        return _Reader(self.columns, self.fields)


@dataclass
class TimedEnumerator(SplitEnumerator):
    """Plans rows, and stores when: rows have the time at which they were planned.

    A position is ``[inner position, time of it, time of day at the start, clock at the start]``;
    all in ms. So a row that is made again has the same time.
    """

    inner: IndexedEnumerator

    def initial(self, now_ms: int) -> Mapping[str, JsonValue]:
        day_ms = int(time.time() * 1000)  # noqa: TID251 - stored in the position
        first = self.inner.initial(now_ms)[_SPLIT]
        return {_SPLIT: [first, day_ms, day_ms, now_ms]}

    def advance(
        self,
        positions: Mapping[str, JsonValue],
        budget: Budget,
        now_ms: int,
        paused: frozenset[str],
    ) -> Progress:
        found = self.inner.advance(_inner_of(positions), budget, now_ms, paused)
        if _SPLIT not in positions:
            return found
        before, time_ms, day_ms, started_ms = positions[_SPLIT]
        finished: Mapping[str, JsonValue] = dict(found.finished)  # type: ignore[arg-type]
        moved_ms = max(day_ms + now_ms - started_ms, time_ms)

        def timed(after: JsonValue) -> JsonValue:
            return [after, time_ms if after == before else moved_ms, day_ms, started_ms]

        return replace(
            found,
            positions={split: timed(at) for split, at in found.positions.items()},
            finished={split: timed(at) for split, at in finished.items()},
        )

    def ranges(
        self, start: Mapping[str, JsonValue], end: Mapping[str, JsonValue], finished: frozenset[str]
    ) -> Sequence[SplitRange]:
        work = self.inner.ranges(_inner_of(start), _inner_of(end), finished)
        if not work:
            return work
        clock = (work[0].start, start[_SPLIT][1], work[-1].end, end[_SPLIT][1])
        return [replace(each, payload=clock) for each in work]

    def pending(self, positions: Mapping[str, JsonValue]) -> Pending:
        return self.inner.pending(_inner_of(positions))


def _inner_of(positions: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {split: position[0] for split, position in positions.items()}


@dataclass
class _Reader(SplitReader):
    columns: Columns
    fields: tuple[FieldSettings, ...]

    def read(self, split_range: SplitRange) -> Iterator[Chunk]:
        return as_rows(self.read_columns(split_range))

    def read_columns(self, split_range: SplitRange) -> Iterator[Chunk | ColumnChunk]:
        start, end = split_range.start, split_range.end
        for at in range(start, end, COLUMNS_RECORDS):
            batch = self._batch(at, min(at + COLUMNS_RECORDS, end), split_range.payload)
            yield ColumnChunk(batch, NAMED_ROWS)

    def _batch(self, start: int, end: int, clock: tuple[int, int, int, int]) -> Any:
        import numpy as np
        import pyarrow as pa

        indexes = np.arange(start, end, dtype=np.int64)
        first, first_ms, last, last_ms = clock

        def times() -> np.ndarray[Any, np.dtype[np.int64]]:
            passed_ms = (indexes - first) * (last_ms - first_ms) // max(last - first, 1)
            found: np.ndarray[Any, np.dtype[np.int64]] = first_ms + passed_ms
            return found

        rows = Rows(indexes, times)
        arrays = [
            field_array(column.type, settings, place, rows)
            for place, (column, settings) in enumerate(zip(self.columns, self.fields, strict=True))
        ]
        return pa.RecordBatch.from_arrays(arrays, names=[c.name for c in self.columns])
