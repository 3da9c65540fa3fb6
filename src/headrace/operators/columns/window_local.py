"""The first phase of window aggregation: rows are aggregated by key and slice before they are sent.

The rules are those of the combiner of streams (``operators/windows/combining/combine.py``): a
watermark waits until the rows before it are sent; rows after a watermark that ends one of their
windows are sent after it; all others may be sent before it. Windows by processing time have no
watermarks; the receiver assigns the slices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common.watermark_strategy import MAX_WATERMARK, MIN_WATERMARK
from headrace.operators.columns.accumulator import Aggregated
from headrace.operators.columns.folding import BufferedPartials
from headrace.operators.columns.gathering import ColumnOperator
from headrace.operators.columns.vectors import VectorAggregates
from headrace.operators.columns.window_slices import SlicedWindows
from headrace.operators.columns.window_time import event_times
from headrace.operators.columns.window_vectors import SLICE, slice_partials
from headrace.operators.combine_policy import CombinePolicy
from headrace.runtime.operator import Operator, OperatorSpec, PushWatermark, Traits

if TYPE_CHECKING:
    import numpy as np

    from headrace.runtime.columns.batch import Columns

MAX_ROWS = 1 << 19
"""The most rows that are buffered."""


@dataclass(frozen=True)
class LocalWindowAggregateSpec(OperatorSpec):
    """Partial results of rows, by key and slice. ``schema``: of the input. ``processing_time``: the
    receiver assigns the slice, by its own time."""

    keys: tuple[str, ...]
    windows: SlicedWindows
    aggregates: tuple[Aggregated, ...]
    schema: Any
    processing_time: bool = False
    traits = Traits(takes_columns=True, gives_columns=True)
    kind = "local-window-aggregate"
    label = "LocalWindowAggregate"

    def build(self) -> Operator:
        return LocalWindowAggregateOperator(self)


class LocalWindowAggregateOperator(ColumnOperator):
    """Buffers partial results until the end of the task run, or until there are too many.

    If keys rarely repeat, rows are sent as they are, because merging would cost more.
    """

    def __init__(self, spec: LocalWindowAggregateSpec) -> None:
        super().__init__(spec.schema)
        self._windows = spec.windows
        self._by_clock = spec.processing_time
        self._keys = spec.keys
        vectors = VectorAggregates.of(spec.aggregates, spec.schema, retracts=False)
        assert vectors is not None, "the planner has asked"
        self._vectors = vectors
        self._policy = CombinePolicy()
        self._buffered = BufferedPartials(vectors, [*spec.keys, SLICE])
        self._reached = MIN_WATERMARK
        self._deferred: int | None = None

    def take(self, columns: Columns) -> None:
        import numpy as np

        if not len(columns):
            return
        slices = self._slices_of(columns)
        partials = slice_partials(self._vectors, columns.batch, self._keys, slices, None)
        if not self._policy.should_combine(len(columns)):
            self._send()
            self._emit(partials)
            return
        ended = slices + self._windows.slice_ms - 1 <= self._reached
        if self._by_clock or not ended.any():
            self._buffer(partials)
            return
        self._buffer(_taken(partials, np.flatnonzero(~ended)))
        self._send()
        self._emit(_taken(partials, np.flatnonzero(ended)))

    def _slices_of(self, columns: Columns) -> np.ndarray[Any, Any]:
        import numpy as np

        if self._by_clock:
            return np.zeros(len(columns), np.int64)
        return self._windows.slices_of(event_times(columns))

    def _buffer(self, partials: Any) -> None:
        self._buffered.add(partials)
        if self._buffered.received >= MAX_ROWS:
            self._send()

    def _send(self) -> None:
        """Send what is buffered, and then the watermark that waits."""
        received, grouped = self._buffered.received, self._buffered.pop()
        if grouped is not None:
            self._policy.add_sample(received, grouped.num_rows)
            self._emit(grouped)
        if self._deferred is not None:
            deferred, self._deferred = self._deferred, None
            self._push_watermark(deferred, False)

    def _emit(self, partials: Any) -> None:
        """Send partial results; the time of each is the last of its slice."""
        import pyarrow.compute as pc

        from headrace.runtime.columns.batch import Columns
        from headrace.runtime.columns.shapes import NAMED_ROWS

        times = pc.add(partials.column(SLICE), self._windows.slice_ms - 1)
        self.outputs.columns(Columns(partials, NAMED_ROWS, times))

    def complete(self) -> None:
        super().complete()
        self._send()

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        """If the watermark ends windows, buffer it until the rows before it are sent."""
        self._flush()
        if self._by_clock:
            push_watermark(watermark, idle)
            return
        self._reached = max(self._windows.reached(watermark), self._reached)
        self._push_watermark = push_watermark
        if self._buffered.received and not idle and watermark < MAX_WATERMARK:
            self._deferred = watermark
            return
        self._send()
        push_watermark(watermark, idle)

    def restore(self, state: Any | None) -> None:
        super().restore(state)
        self._buffered.clear()
        self._reached, self._deferred = MIN_WATERMARK, None


def _taken(partials: Any, rows: np.ndarray[Any, Any]) -> Any:
    import pyarrow as pa

    return partials.take(pa.array(rows))
