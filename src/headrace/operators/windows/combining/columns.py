"""The combiner of aligned windows for columns.

It follows the rules of the combiner for rows (``combine.py``), for one chunk of columns at a time:
no watermark comes within a chunk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.common.watermark_strategy import MAX_WATERMARK
from headrace.operators.aggregates.aggregate import Fold
from headrace.operators.windows.combining.combine import CombineWindowsOperator, CombineWindowsSpec
from headrace.runtime.exchange.send_context import MAX_BUFFERED_BYTES
from headrace.runtime.loops import Push, call_step, compile_push_all
from headrace.runtime.operator import Operator, Outputs, PushWatermark, Traits

if TYPE_CHECKING:
    from headrace.operators.windows.aligned.partials import PartialAggregator, ProjectedBatch
    from headrace.runtime.columns.batch import Columns, PushColumns

MAX_RECORDS = 1 << 19
"""Flush when this many records are buffered. The more records, the more of them share a key."""

MAX_BYTES = 4 * MAX_BUFFERED_BYTES
"""Flush at this size. Columns may keep the memory of other columns that came with them."""

_INT64_MAX = (1 << 63) - 1


@dataclass(frozen=True)
class CombineColumnsSpec(CombineWindowsSpec):
    """The combiner where columns contain the key. ``fold``: the aggregates."""

    key_columns: tuple[str, ...]
    fold: Fold
    traits = Traits(takes_columns=True)
    label = "Combine columns"

    def build(self) -> Operator:
        return CombineColumnsOperator(self)


class CombineColumnsOperator(CombineWindowsOperator):
    """Buffers columns until the task run ends or a limit is reached, then sends partial aggregates.

    It never buffers columns and rows at the same time.
    """

    def __init__(self, spec: CombineColumnsSpec) -> None:
        super().__init__(spec)
        self._columns_spec = spec
        self._aggregator: PartialAggregator | None = None
        self._buffer: list[ProjectedBatch] = []
        self._records = self._bytes = self._max_abs_sum = 0

    def bind(self, outputs: Outputs) -> Push:
        push = super().bind(outputs)
        step = self.step()
        assert step is not None, "a combiner is a part of loops"
        self._push_rows: Callable[..., None] = compile_push_all(
            (step, call_step(outputs.main)), self.node.name
        )
        return push

    def begin_chunk(self, count: int) -> bool:
        """Return whether to combine the next chunk, of ``count`` rows.

        Buffered columns are flushed first.
        """
        if self._buffer:
            self._flush()
        return super().begin_chunk(count)

    def bind_columns(self, outputs: Outputs) -> PushColumns:
        from headrace.operators.windows.aligned.partials import partial_aggregator

        spec, self._outputs = self._columns_spec, outputs

        def push(columns: Columns) -> None:
            if self._tables or self._ended:
                self._flush()
            if not self._policy.should_combine(len(columns)):
                self._flush()
                outputs.columns(columns)
                return
            aggregator = partial_aggregator(spec.fold, spec.key_columns, spec.grid, columns)
            if aggregator != self._aggregator:
                self._flush()
                self._aggregator = aggregator
            projected = aggregator.project(columns)
            if projected is None:
                self._push_rows(columns.rows(), columns.timestamps and [*columns.timestamps])
                return
            self._buffer_or_send_late(projected, aggregator)

        return push

    def _buffer_or_send_late(
        self, projected: ProjectedBatch, aggregator: PartialAggregator
    ) -> None:
        """Buffer records, but send late ones at once, uncombined."""
        is_late = projected.panes(aggregator) <= self._watermark - self._grid.pane_ms + 1
        if not is_late.any():
            self._add_to_buffer(projected)
            return
        if not is_late.all():
            self._add_to_buffer(projected.filter(~is_late))
        # Records of ended panes are sent as they are, after the watermark.
        self._flush()
        self._outputs.columns(projected.filter(is_late).columns)

    def _add_to_buffer(self, projected: ProjectedBatch) -> None:
        buffer = self._buffer
        if buffer and not (
            buffer[0].is_like(projected) and self._max_abs_sum + projected.max_abs_sum <= _INT64_MAX
        ):
            self._flush()
        buffer.append(projected)
        self._max_abs_sum += projected.max_abs_sum
        self._records += len(projected)
        self._bytes += projected.columns.nbytes
        if self._records >= MAX_RECORDS or self._bytes >= MAX_BYTES:
            self._flush()

    def _discard(self) -> None:
        super()._discard()
        self._clear_buffer()

    def _clear_buffer(self) -> None:
        self._buffer.clear()
        self._records = self._bytes = self._max_abs_sum = 0

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        """Defer the watermark until the buffered records before it are sent."""
        if not self._buffer:
            super().watermark(watermark, idle, push_watermark)
            return
        self._watermark = max(watermark, self._watermark)
        self._signal = push_watermark
        if not idle and watermark < MAX_WATERMARK:
            self._deferred_watermark = watermark
            return
        self._flush()
        push_watermark(watermark, idle)

    def _flush(self) -> None:
        aggregator = self._aggregator
        if self._buffer and aggregator is not None:
            partials = aggregator.aggregate(self._buffer)
            self._policy.add_sample(self._records, partials.num_rows)
            self._clear_buffer()
            self._outputs.columns(aggregator.to_columns(partials))
        super()._flush()
