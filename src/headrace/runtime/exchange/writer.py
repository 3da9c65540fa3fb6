"""The ends of a chain: buffers that gather what leaves a task, by group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Any

from headrace.runtime.block import ALL_GROUPS, Block, BlockBuffer, Envelope, Kind, Mark, to_block
from headrace.runtime.channel import Channel
from headrace.runtime.exchange.send_context import SendContext
from headrace.runtime.overflow import estimate_bytes
from headrace.runtime.program import ExchangeProgram
from headrace.runtime.record_copies import RecordLayout


class ExchangeWriter:
    """Buffers records for ``groups`` receivers; ``drain`` returns them as envelopes.

    Flink's ``ResultPartitionWriter``. ``to_all``: the only buffer is for all tasks.
    """

    def __init__(
        self,
        send_context: SendContext,
        stage: int,
        target: str,
        groups: int,
        keyed: bool,
        exchange: str | None,
        input: int = 0,
        to_all: bool = False,
    ) -> None:
        self.send_context = send_context
        self.stage = stage
        self.target = target
        self.groups = groups
        self.keyed = keyed
        self.exchange = exchange
        self.input = input
        self.to_all = to_all
        self.buffers: list[BlockBuffer | None] = [None] * groups
        self.may_be_mutable = False
        """Whether a buffered record may be mutable (see ``Block.immutable``)."""
        self.channel = Channel(exchange or "")
        self.merged = False
        self.watermark: int | None = None
        self.round_robin_index = -1
        self._sent_records = 0
        """The number of records that were sent, or dropped after a failed call."""

    @property
    def count(self) -> int:
        """The number of records written since this writer was made (a ``Measure``)."""
        return self._sent_records + self._count_unsent_records()

    def _count_unsent_records(self) -> int:
        return count_buffered(self.buffers)

    def begin(self, channel: Channel | None, merged: bool, keep_buffers: bool = False) -> None:
        """Start a task run; ``channel``: whose watermark its marks carry (None: no marks).

        ``merged``: all senders of the exchange share one sequence of watermarks. ``keep_buffers``:
        the buffers stay as they are.
        """
        self.channel = channel or Channel("")
        self.merged = merged
        self.round_robin_index = -1
        if not keep_buffers:
            self.watermark = None
            if any(self.buffers):
                self._sent_records += count_buffered(self.buffers)
            self.buffers[:] = [None] * self.groups

    def open_channel(self, channel: Channel) -> None:
        """Assign the following records and marks to this channel."""
        self.channel = channel
        self.watermark = None
        for buffer in self.buffers:
            if buffer is not None:
                buffer.start_channel(channel)

    def buffer(self, group: int) -> BlockBuffer:
        """Return the open buffer of a group."""
        buffer = self.buffers[group]
        if buffer is None:
            buffer = self.buffers[group] = self._new_buffer(group)
        return buffer

    def _new_buffer(self, group: int) -> BlockBuffer:
        buffer = BlockBuffer(None)
        if self.exchange is not None and not self.merged:
            buffer.start_channel(self.channel)
        return buffer

    def write_watermark(self, watermark: int, idle: bool) -> None:
        """Write a watermark (ms) behind the buffered records, for every receiver.

        A sink's writer only stores it: a split's watermark is the minimum over its writers.
        """
        self.watermark = watermark
        if self.exchange is None:
            return
        channel = self.channel
        for group in range(self.groups):
            buffer = self.buffer(group)
            marks, position = buffer.marks, len(buffer.values)
            mark = Mark(position, channel, watermark, idle)
            if marks and marks[-1].position == position and marks[-1].channel == channel:
                marks[-1] = mark
            else:
                marks.append(mark)

    def buffered_records(self) -> int:
        """Return how many records wait in the buffers."""
        return count_buffered(self.buffers)

    def buffered_bytes(self) -> int:
        """Return the estimated bytes of the buffers, from a sample of the records."""
        open_now = [buffer for buffer in self.buffers if buffer is not None and buffer.values]
        sample = [buffer.values[-1] for buffer in open_now[:: len(open_now) // 2 + 1]]
        return (
            sum(map(estimate_bytes, sample)) * self.buffered_records() // len(sample)
            if sample
            else 0
        )

    @property
    def prefers_larger_batches(self) -> bool:
        """Whether the buffered records should wait for more, unless they must be sent."""
        return False

    def drain(self) -> Iterator[Envelope]:
        """Yield everything gathered, as envelopes; the buffers are empty afterwards."""
        for group, buffer in enumerate(self.buffers):
            if buffer is not None:
                self.buffers[group] = None
                yield self._make_buffer_envelope(group, buffer)

    def _make_buffer_envelope(self, group: int, buffer: BlockBuffer) -> Envelope:
        send_context = self.send_context
        self._sent_records += len(buffer.values)
        merged_channel = self.channel if self.merged and self.exchange else None
        immutable = not self.may_be_mutable
        block = to_block(
            buffer, self.keyed, send_context.now_ms, merged_channel, immutable, self.input
        )
        return self._to_envelope(group, block)

    def _to_envelope(self, group: int, block: Block) -> Envelope:
        """Return the envelope of a block; for a sink it carries the current group's number."""
        send_context = self.send_context
        where = group if self.exchange is not None else send_context.current_group
        if self.to_all:
            where = ALL_GROUPS
        return Envelope(
            self.stage,
            where,
            self.target,
            Kind.DATA,
            send_context.sender,
            next(send_context.seq),
            block,
        )


class KeyedExchangeWriter(ExchangeWriter):
    """The writer of a keyed stage, whose groups all have the same sequence of watermarks.

    Records of several groups, which run one after another, are put into the same blocks, as a block
    for each pair of groups would be short. Records are buffered by the watermark under which they
    were emitted, and sorted by it in a block.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._buffers_by_watermark: dict[int, list[BlockBuffer | None]] = {}
        """The buffers under every other watermark than the present one."""
        self._records_by_watermark = 0
        self._layouts: list[dict[RecordLayout, int]] = [{} for _ in self.buffers]
        self._last: Mark | None = None
        self._announced: dict[int, Mark | None] = {}
        """For each current group that had a mark: the last mark that was sent."""

    def begin(self, channel: Channel | None, merged: bool, keep_buffers: bool = False) -> None:
        """Start a task run, under the watermark of the keyed task."""
        super().begin(channel, merged, keep_buffers)
        if not keep_buffers:
            self._last = None
            self._announced.clear()
            self._sent_records += self._records_by_watermark
            self._clear_buffers()
        assert self.send_context.keyed_watermark is not None
        self._switch_to(self.send_context.keyed_watermark)

    def _count_unsent_records(self) -> int:
        return self.buffered_records()

    def _clear_buffers(self) -> None:
        self._buffers_by_watermark.clear()
        self._records_by_watermark = 0
        for layouts in self._layouts:
            layouts.clear()

    def _switch_to(self, watermark: int) -> None:
        if watermark == self.watermark:
            return
        if self.watermark is not None and any(self.buffers):
            self._buffers_by_watermark[self.watermark] = [*self.buffers]
            self._records_by_watermark += count_buffered(self.buffers)
        found = self._buffers_by_watermark.pop(watermark, None)
        if found is None:
            self.buffers[:] = [None] * self.groups
        else:
            self.buffers[:] = found
            self._records_by_watermark -= count_buffered(found)
        self.watermark = watermark

    def _new_buffer(self, group: int) -> BlockBuffer:
        return BlockBuffer(self.watermark, self._layouts[group])

    def write_watermark(self, watermark: int, idle: bool) -> None:
        """Set the watermark (ms) under which the following records are emitted."""
        self._switch_to(watermark)
        if self._last is None or watermark >= self._last.watermark:
            self._last = Mark(0, self.channel, watermark, idle)
        self._announced.setdefault(self.send_context.current_group, None)

    def buffered_records(self) -> int:
        """Return how many records wait in the buffers."""
        return count_buffered(self.buffers) + self._records_by_watermark

    def drain(self) -> Iterator[Envelope]:
        """Yield one block for each receiver that gets records, or the watermark, from this writer.

        Receivers without a record get the watermark from the group with their own number.
        """
        last, announces = self._last, self._groups_to_announce()
        assert self.watermark is not None
        by_watermark = {**self._buffers_by_watermark, self.watermark: self.buffers}
        in_order = [found for _, found in sorted(by_watermark.items(), key=itemgetter(0))]
        for group in range(self.groups):
            found = [buffer for each in in_order if (buffer := each[group]) is not None]
            for buffers in in_order:
                buffers[group] = None
            if not found and last is not None and self._gets_watermark_from(group, announces):
                found = [BlockBuffer(last.watermark)]
            if found:
                yield self._make_buffer_envelope(group, self._concatenate_buffers(found))
        self._mark_announced(announces)

    def _groups_to_announce(self) -> set[int]:
        """Return the current groups that have not sent the last mark yet."""
        return {group for group, mark in self._announced.items() if mark != self._last}

    def _gets_watermark_from(self, group: int, announces: set[int]) -> bool:
        """Return whether a group in ``announces`` sends the watermark to receiver ``group``.

        It is the group with the receiver's number, modulo the number of groups.
        """
        return group % self.send_context.group_count in announces

    def _mark_announced(self, announces: set[int]) -> None:
        """Record that all buffers, and the last mark, were sent by the groups in ``announces``."""
        self._announced.update(dict.fromkeys(announces, self._last))
        self._clear_buffers()

    def _concatenate_buffers(self, buffers: list[BlockBuffer]) -> BlockBuffer:
        """Concatenate buffers, which are ordered by watermark, with marks between them."""
        merged, *others = buffers
        for buffer in others:
            assert buffer.first_watermark_ms is not None
            merged.marks.append(Mark(len(merged.values), self.channel, buffer.first_watermark_ms))
            merged.append(buffer)
        if self._last is not None:
            merged.marks.append(self._last._replace(position=len(merged.values)))
        return merged


def writer_arguments(send_context: SendContext, program: ExchangeProgram) -> tuple[Any, ...]:
    """Return the constructor arguments of an exchange's ``ExchangeWriter``."""
    mode = program.mode
    return (
        *(send_context, program.stage, program.target, program.groups, mode == "key", program.id),
        *(program.input, mode == "broadcast"),
    )


def count_buffered(buffers: Iterable[BlockBuffer | None]) -> int:
    """Return how many records wait in buffers."""
    return sum(len(buffer.values) for buffer in buffers if buffer is not None)
