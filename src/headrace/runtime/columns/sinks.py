"""The end of a chain for columns that go to a sink."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.runtime.block import Block, Envelope
from headrace.runtime.channel import Channel
from headrace.runtime.columns.batch import Columns, joined
from headrace.runtime.exchange.endpoint import ExchangeWriter, waiting_in


class SinkEndpoint(ExchangeWriter):
    """Gathers columns or rows for a sink, in their order. ``records`` counts rows only."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._gathered: list[Columns] = []

    def begin(self, channel: Channel | None, merged: bool, appends: bool = False) -> None:
        """Start a task run (see ``ExchangeWriter.begin``)."""
        super().begin(channel, merged, appends)
        if not appends:
            self._left += sum(map(len, self._gathered))
            self._gathered = []

    def _gathered_records(self) -> int:
        return sum(map(len, self._gathered)) + super()._gathered_records()

    def push_columns(self, columns: Columns) -> None:
        """Gather columns; what waits as rows, or as other columns, is put aside."""
        found = self._gathered
        if waiting_in(self.buffers) or (found and not found[-1].is_like(columns)):
            for envelope in self.drain():
                self.outbox.overflow.put(envelope)
        self._gathered.append(columns)
        self.outbox.weight_bytes += columns.nbytes

    def drain(self) -> Iterator[Envelope]:
        """Everything gathered: columns came before the rows that wait."""
        gathered, self._gathered = self._gathered, []
        if gathered:
            columns = joined(gathered)
            self._left += len(columns)
            times = columns.timestamps
            block = Block(None, columns, times, False, [], None, self.outbox.now_ms)
            yield self._addressed(0, block)
        yield from super().drain()
