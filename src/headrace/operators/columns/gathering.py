"""Rows become columns: operators over columns that may be given rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.common.types import Row, RowKind
from headrace.operators.keyed import StatefulOperator
from headrace.runtime.loops import Push
from headrace.runtime.operator import Operator, Outputs, PushWatermark
from headrace.runtime.state.backend import Timer

if TYPE_CHECKING:
    import numpy as np

    from headrace.runtime.columns.batch import Columns, PushColumns
    from headrace.runtime.columns.keys import ColumnKeys

MAX_ROWS = 32_768
"""The most rows that are gathered before they become columns."""


def columns_of_rows(
    rows: Sequence[Row], times: Sequence[int | None] | None, schema: Any
) -> Columns:
    """Return rows with the fields of an Arrow schema, in that order, as columns."""
    import numpy as np
    import pyarrow as pa

    from headrace.runtime.columns.batch import Columns
    from headrace.runtime.columns.shapes import NAMED_ROWS

    fields: Any = zip(*(row._values for row in rows), strict=True) if rows else [()] * len(schema)
    arrays = [pa.array(values, each.type) for values, each in zip(fields, schema, strict=True)]
    kinds = np.fromiter((row.get_row_kind().value for row in rows), np.int8, len(rows))
    known = times is not None and any(each is not None for each in times)
    return Columns(
        pa.RecordBatch.from_arrays(arrays, schema=schema),
        NAMED_ROWS,
        pa.array(times, pa.int64()) if known else None,
        kinds,
    )


class GatheringOperator(Operator):
    """Takes columns; rows are gathered until the chunk, or the watermark's time, is over."""

    def __init__(self) -> None:
        self._rows: list[Any] = []
        self._times: list[int | None] = []

    @abstractmethod
    def take(self, columns: Columns) -> None:
        """Process columns, and emit what they give by ``self.outputs``."""

    @abstractmethod
    def take_rows(self, rows: list[Any], times: list[int | None]) -> None:
        """Process rows and their timestamps."""

    def bind(self, outputs: Outputs) -> Push:
        self.outputs = outputs
        return self._gather

    def bind_columns(self, outputs: Outputs) -> PushColumns:
        self.outputs = outputs

        def push(columns: Columns) -> None:
            self._flush()
            self.take(columns)

        return push

    def _gather(self, value: Any, timestamp: int | None) -> None:
        self._rows.append(value)
        self._times.append(timestamp)
        if len(self._rows) >= MAX_ROWS:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            rows, self._rows = self._rows, []
            times, self._times = self._times, []
            self.take_rows(rows, times)

    def tick(self) -> None:
        self._flush()

    def complete(self) -> None:
        self._flush()

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        self._flush()
        push_watermark(watermark, idle)

    def restore(self, state: Any | None) -> None:
        """Drop the rows of a failed task run."""
        self._rows.clear()
        self._times.clear()


class ColumnOperator(GatheringOperator):
    """Takes columns; rows become columns."""

    def __init__(self, schema: Any) -> None:
        super().__init__()
        self._schema = schema

    def take_rows(self, rows: list[Any], times: list[int | None]) -> None:
        self.take(columns_of_rows(rows, times, self._schema))


class KeyedColumnOperator(StatefulOperator):
    """A keyed operator that takes columns; blocks of rows become columns."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema

    @abstractmethod
    def take(self, columns: Columns, codes: np.ndarray[Any, Any], distinct: list[Any]) -> None:
        """Process columns in order.

        ``codes``: for each row the number of its key among the ``distinct`` keys.
        """

    def bind(self, outputs: Outputs) -> Push:
        self.outputs = outputs
        return self.reject_record

    def fire_user_timer(self, timer: Timer, is_event_time: bool) -> None:
        """Do nothing: operators that set timers say what is due."""

    def process_columns(self, keys: ColumnKeys, columns: Columns) -> None:
        self.take(columns, keys.codes, keys.distinct)

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        import numpy as np

        numbers: dict[Any, int] = {}
        codes = np.fromiter(
            (numbers.setdefault(key, len(numbers)) for key in keys), np.int64, len(keys)
        )
        self.take(columns_of_rows(values, timestamps, self._schema), codes, [*numbers])


INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = (kind.value for kind in RowKind)
"""Row kinds as they stand in the kinds of columns."""


def retracted(columns: Columns) -> np.ndarray[Any, Any] | None:
    """Return which rows take an earlier one back; None: none does."""
    kinds = columns.kinds
    return None if kinds is None else (kinds == UPDATE_BEFORE) | (kinds == DELETE)


def first_rows(codes: np.ndarray[Any, Any], keys: int) -> np.ndarray[Any, Any]:
    """Return the first row of each key."""
    import numpy as np

    first = np.empty(keys, np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # of several assignments the last one counts
    return first


def last_rows(codes: np.ndarray[Any, Any], keys: int) -> np.ndarray[Any, Any]:
    """Return the last row of each key."""
    import numpy as np

    last = np.empty(keys, np.int64)
    last[codes] = np.arange(len(codes))  # of several assignments the last one counts
    return last
