"""The end of a keyed stage's chain for columns.

The groups of a task emit one after another. Their output is collected by the watermark under which
it was emitted. It is sent in the order of watermarks, with one sort for all groups (see
``KeyedExchangeWriter``).
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from headrace.runtime.block import Block, BlockBuffer, Envelope, Mark
from headrace.runtime.channel import Channel
from headrace.runtime.columns.batch import Columns, concatenate_columns
from headrace.runtime.columns.exchange import (
    GroupSorter,
    PushRows,
    count_rows_before,
    drop_columns,
)
from headrace.runtime.columns.routing import routing_of
from headrace.runtime.exchange.send_context import MAX_BUFFERED_BYTES, SendContext
from headrace.runtime.exchange.writer import KeyedExchangeWriter, count_buffered, writer_arguments
from headrace.runtime.program import ExchangeProgram

if TYPE_CHECKING:
    import numpy as np

_Gathered = list[tuple[Columns, "np.ndarray[Any, Any]"]]
"""Columns, each with the groups of its rows."""


class KeyedColumnExchangeWriter(KeyedExchangeWriter):
    """Buffers columns and rows for the groups of a keyed vertex.

    Rows are sent before columns. So the order of a group's output under one watermark is kept if it
    is rows, then columns. If it is not, or if columns of another kind are added, everything
    buffered is put aside as blocks. ``buffered_records`` counts rows only, as in
    ``ColumnExchangeWriter``.
    """

    def __init__(
        self, send_context: SendContext, program: ExchangeProgram, partitions: int
    ) -> None:
        super().__init__(*writer_arguments(send_context, program))
        self._routing = routing_of(program, self)
        self._by_group = GroupSorter(self.groups, partitions)
        self._gathered: dict[int, _Gathered] = {}
        self._last_columns: Columns | None = None
        self._bytes = 0
        self._gave_columns: set[tuple[int, int]] = set()
        """Which groups have columns here, under which watermarks."""
        self._before_columns: list[BlockBuffer | None] | None = None
        """The row buffers of the current watermark, hidden while columns are buffered."""

    def begin(self, channel: Channel | None, merged: bool, keep_buffers: bool = False) -> None:
        """Start a task run, under the watermark of the keyed task."""
        self._open_rows()
        if not keep_buffers:
            self._sent_records += self._count()
            self._clear_columns()
        super().begin(channel, merged, keep_buffers)

    def _count_unsent_records(self) -> int:
        return self._count() + super()._count_unsent_records()

    def _count(self) -> int:
        return sum(len(columns) for found in self._gathered.values() for columns, _ in found)

    def _clear_columns(self) -> None:
        self._gathered, self._last_columns, self._bytes = {}, None, 0
        self._gave_columns.clear()

    def _switch_to(self, watermark: int) -> None:
        if watermark != self.watermark:
            self._open_rows()
        super()._switch_to(watermark)

    def _close_rows(self) -> None:
        """Make each row call ``buffer``, which first puts buffered columns aside."""
        if self._before_columns is None and any(self.buffers):
            self._before_columns = [*self.buffers]
            self.buffers[:] = [None] * self.groups

    def _open_rows(self) -> None:
        if self._before_columns is not None:
            self.buffers[:], self._before_columns = self._before_columns, None

    def buffer(self, group: int) -> Any:
        """Return the open buffer of a group, for a row."""
        if (self.send_context.current_group, self.watermark) in self._gave_columns:
            self._spill()
        self._open_rows()
        return super().buffer(group)

    def _spill(self) -> None:
        for envelope in self.drain():
            self.send_context.overflow.put(envelope)

    def buffered_records(self) -> int:
        """Return how many rows wait."""
        return super().buffered_records() + count_buffered(self._before_columns or ())

    def buffered_bytes(self) -> int:
        """Return about how many bytes wait."""
        return self._bytes + super().buffered_bytes()

    @property
    def prefers_larger_batches(self) -> bool:
        """True for columns until they are many bytes: few make as many blocks as many do."""
        return 0 < self._bytes < MAX_BUFFERED_BYTES and not self.buffered_records()

    def push_columns(self, columns: Columns, rows: PushRows) -> None:
        """Buffer columns; ``rows`` gets their records if only those have the key groups."""
        groups = self._routing.groups_of(columns)
        if groups is None:
            rows(*columns.rows_to_send())
            return
        if self._last_columns is not None and not self._last_columns.is_like(columns):
            self._spill()
        assert self.watermark is not None
        self._close_rows()
        self._last_columns = columns
        self._gave_columns.add((self.send_context.current_group, self.watermark))
        self._gathered.setdefault(self.watermark, []).append((columns, groups))
        size_bytes = columns.nbytes
        self._bytes += size_bytes
        self.send_context.buffered_bytes += size_bytes
        # Between two groups the task lets them leave; this is for a large one.
        if self.send_context.buffered_bytes >= 2 * MAX_BUFFERED_BYTES:
            self.send_context.spill_buffers()

    def drain(self) -> Iterator[Envelope]:
        """Yield one block for each receiver that gets records or the watermark."""
        self._open_rows()
        if self.buffered_records() or not self._gathered:
            yield from super().drain()
        if self._gathered:
            yield from self._drain_columns()

    def _drain_columns(self) -> Iterator[Envelope]:
        import numpy as np

        last, announces = self._last, self._groups_to_announce()
        parts, routes, begins = list[Columns](), list[Any](), list[tuple[int, int]]()
        row = 0
        for watermark, found in sorted(self._gathered.items(), key=itemgetter(0)):
            begins.append((row, watermark))
            for columns, groups in found:
                parts.append(columns)
                routes.append(groups)
                row += len(columns)
        self._clear_columns()
        all_columns, groups = (
            concatenate_columns(parts),
            routes[0] if len(routes) == 1 else np.concatenate(routes),
        )
        before = count_rows_before(groups, [at for at, _ in begins], self.groups)
        self._sent_records += len(all_columns)
        for group, columns in self._by_group.slices(all_columns, groups):
            starts = [(before[at][group], watermark) for at, watermark in begins]
            if len(columns):
                yield self._columns_envelope(group, columns, starts)
            elif last is not None and self._gets_watermark_from(group, announces):
                yield self._columns_envelope(group, columns, [(0, last.watermark)])
        self._mark_announced(announces)

    def _columns_envelope(
        self, group: int, columns: Columns, starts: list[tuple[int, int]]
    ) -> Envelope:
        """Return a group's block; ``starts``: with which of its rows each watermark begins."""
        ends = [at for at, _ in starts[1:]] + [len(columns)]
        under = [
            (at, watermark)
            for (at, watermark), end in zip(starts, ends, strict=True)
            if end > at or not len(columns)
        ]
        marks = [Mark(at, self.channel, watermark) for at, watermark in under[1:]]
        if self._last is not None:
            marks.append(self._last._replace(position=len(columns)))
        block = Block(
            self._routing.keys_of(columns),
            columns,
            columns.timestamps,
            copied=False,
            marks=marks,
            first_watermark_ms=under[0][1],
            now_ms=self.send_context.now_ms,
            merged_channel=self.channel if self.merged else None,
            input=self.input,
        )
        if not len(columns):
            block = drop_columns(block, self.keyed)
        return self._to_envelope(group, block)
