"""The end of a chain for columns that go to a sink."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.runtime.block import Block, Envelope
from headrace.runtime.channel import Channel
from headrace.runtime.columns.batch import Columns, concatenate_columns
from headrace.runtime.exchange.writer import ExchangeWriter, count_buffered


class ColumnSinkWriter(ExchangeWriter):
    """Buffers columns or rows for a sink, in order; ``buffered_records`` counts rows only."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._gathered: list[Columns] = []

    def begin(self, channel: Channel | None, merged: bool, keep_buffers: bool = False) -> None:
        """Start a task run (see ``ExchangeWriter.begin``)."""
        super().begin(channel, merged, keep_buffers)
        if not keep_buffers:
            self._sent_records += sum(map(len, self._gathered))
            self._gathered = []

    def _count_unsent_records(self) -> int:
        return sum(map(len, self._gathered)) + super()._count_unsent_records()

    def push_columns(self, columns: Columns) -> None:
        """Buffer columns; put buffered rows, and columns of other kinds, aside first."""
        found = self._gathered
        if count_buffered(self.buffers) or (found and not found[-1].is_like(columns)):
            for envelope in self.drain():
                self.send_context.overflow.put(envelope)
        self._gathered.append(columns)
        self.send_context.buffered_bytes += columns.nbytes

    def drain(self) -> Iterator[Envelope]:
        """Yield and remove all buffered output; buffered columns are older than buffered rows."""
        gathered, self._gathered = self._gathered, []
        if gathered:
            columns = concatenate_columns(gathered)
            self._sent_records += len(columns)
            times = columns.timestamps
            block = Block(None, columns, times, False, [], None, self.send_context.now_ms)
            yield self._to_envelope(0, block)
        yield from super().drain()
