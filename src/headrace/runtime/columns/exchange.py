"""The end of a source's chain for columns: rows go to their groups by one sort.

What is gathered is sorted by group once, when it leaves. Every group's block is a slice of the
sorted whole. The groups of one partition lie next to each other, so what travels to a partition is
one Arrow message (``shared``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.runtime.block import Block, Envelope, Mark
from headrace.runtime.channel import Channel
from headrace.runtime.columns.batch import Columns, concatenate_columns
from headrace.runtime.columns.routing import routing_of
from headrace.runtime.exchange.send_context import MAX_BUFFERED_BYTES, SendContext
from headrace.runtime.exchange.writer import ExchangeWriter, count_buffered, writer_arguments
from headrace.runtime.program import ExchangeProgram

if TYPE_CHECKING:
    import numpy as np

PushRows = Callable[[list[Any], Any], None]


class _Event(NamedTuple):
    """A mark, or a change of channel, between two buffered rows, for every group.

    ``row``: how many rows come before it. ``mark`` None: from here on rows belong to ``channel``.
    """

    row: int
    channel: Channel
    mark: Mark | None = None


class ColumnExchangeWriter(ExchangeWriter):
    """Buffers columns, or rows, for the groups of a vertex.

    It never has both: when the other kind is added, everything buffered is put aside first, so the
    order of records is kept. ``buffered_records`` counts rows only: columns are buffered up to a
    size in bytes, as large batches cost less per record, here and at the receiver.
    """

    def __init__(
        self, send_context: SendContext, program: ExchangeProgram, partitions: int
    ) -> None:
        super().__init__(*writer_arguments(send_context, program))
        self._routing = routing_of(program, self)
        self._by_group = GroupSorter(self.groups, partitions)
        self._gathered: list[Columns] = []
        self._groups: list[np.ndarray[Any, Any]] = []
        self._events: list[_Event] = []
        self._rows = self._bytes = 0

    def begin(self, channel: Channel | None, merged: bool, keep_buffers: bool = False) -> None:
        """Start a task run (see ``ExchangeWriter.begin``)."""
        super().begin(channel, merged, keep_buffers)
        if not keep_buffers:
            self._sent_records += self._rows
            self._clear_columns()

    def _count_unsent_records(self) -> int:
        return self._rows + super()._count_unsent_records()

    def open_channel(self, channel: Channel) -> None:
        """Assign the following records and marks to this channel."""
        super().open_channel(channel)
        if self._gathered:
            self._start_channel(channel)

    def write_watermark(self, watermark: int, idle: bool) -> None:
        """Write a watermark (ms) behind the buffered records, for every receiver."""
        if not self._gathered:
            super().write_watermark(watermark, idle)
            return
        self.watermark = watermark
        events, channel = self._events, self.channel
        last = events[-1] if events else None
        if last is not None and last.mark and last[:2] == (self._rows, channel):
            events.pop()
        events.append(_Event(self._rows, channel, Mark(0, channel, watermark, idle)))

    def buffer(self, group: int) -> Any:
        """Return the open buffer of a group, for a row. Columns that wait are put aside first."""
        self._spill_columns()
        return super().buffer(group)

    def buffered_bytes(self) -> int:
        """Return about how many bytes wait."""
        return self._bytes or super().buffered_bytes()

    def push_columns(self, columns: Columns, rows: PushRows) -> None:
        """Buffer columns; ``rows`` gets their records if only those have the key groups."""
        groups = self._routing.groups_of(columns)
        if groups is None:
            rows(*columns.rows_to_send())
            return
        if self._gathered and not self._gathered[-1].is_like(columns):
            self._spill_columns()
        if not self._gathered:
            self._begin_columns()
        self._gathered.append(columns)
        self._groups.append(groups)
        self._rows += len(columns)
        size_bytes = columns.nbytes
        self._bytes += size_bytes
        self.send_context.buffered_bytes += size_bytes
        # Between two chunks the chain lets them leave, in shared messages; this is for a large one.
        if self.send_context.buffered_bytes >= 2 * MAX_BUFFERED_BYTES:
            self.send_context.spill_buffers()

    def drain(self) -> Iterator[Envelope]:
        """Yield everything gathered, as envelopes; nothing is left afterwards."""
        if self._gathered:
            yield from self._drain_columns()
        else:
            yield from super().drain()

    def _begin_columns(self) -> None:
        """Put buffered rows aside, so that they are sent before the following columns."""
        waiting = [buffer for buffer in self.buffers if buffer is not None]
        if not self.merged:
            self._start_channel(self.channel)
        if count_buffered(waiting):
            for envelope in super().drain():
                self.send_context.overflow.put(envelope)
        elif waiting:  # marks alone: every group has the same
            found = waiting[0].marks
            self._events += [_Event(0, mark.channel, mark) for mark in found]
            self.buffers[:] = [None] * self.groups

    def _start_channel(self, channel: Channel) -> None:
        self._events.append(_Event(self._rows, channel))

    def _spill_columns(self) -> None:
        if self._gathered:
            for envelope in self._drain_columns():
                self.send_context.overflow.put(envelope)

    def _clear_columns(self) -> None:
        self._gathered, self._groups, self._events = [], [], []
        self._rows = self._bytes = 0

    def _drain_columns(self) -> Iterator[Envelope]:
        """Yield the blocks of all groups; those of one partition follow each other."""
        import numpy as np

        all_columns, events = concatenate_columns(self._gathered), self._events
        groups = self._groups[0] if len(self._groups) == 1 else np.concatenate(self._groups)
        self._clear_columns()
        before = count_rows_before(groups, sorted({event.row for event in events}), self.groups)
        for group, columns in self._by_group.slices(all_columns, groups):
            yield from self._make_envelope(group, columns, events, before)

    def _make_envelope(
        self,
        group: int,
        columns: Columns,
        events: list[_Event],
        before: dict[int, list[int]],
    ) -> Iterator[Envelope]:
        """Yield the envelope of a group's columns and marks; none if there are none.

        ``before``: for each event row, the number of rows of each group before it.
        """
        marks, channel_starts = list[Mark](), list[tuple[int, Channel]]()
        for row, channel, mark in events:
            position = before[row][group]
            if mark is None:
                if channel_starts and channel_starts[-1][0] == position:
                    channel_starts.pop()
                channel_starts.append((position, channel))
            else:
                last = marks[-1] if marks else None
                if last is not None and (last.position, last.channel) == (position, channel):
                    marks.pop()
                marks.append(mark._replace(position=position))
        if not (marks or len(columns)):
            return
        self._sent_records += len(columns)
        block = Block(
            self._routing.keys_of(columns),
            columns,
            columns.timestamps,
            copied=False,
            marks=marks,
            first_watermark_ms=None,
            now_ms=self.send_context.now_ms,
            merged_channel=self.channel if self.merged else None,
            channel_starts=(*channel_starts,),
            input=self.input,
        )
        if not len(columns):
            block = drop_columns(block, self.keyed)
        yield self._to_envelope(group, block)


def drop_columns(block: Block, keyed: bool) -> Block:
    """Return a block with the marks of an empty block of columns, but without columns."""
    return block._replace(keys=[] if keyed else None, values=[], timestamps=None)


class GroupSorter:
    """Sorts rows by group; groups of one partition are adjacent."""

    def __init__(self, groups: int, partitions: int) -> None:
        self._groups = groups
        self._order = sorted(range(groups), key=lambda group: (group % partitions, group))

    def slices(
        self, columns: Columns, groups: np.ndarray[Any, Any]
    ) -> Iterator[tuple[int, Columns]]:
        """Yield each group with its rows, also groups without rows.

        ``groups``: the group of each row.
        """
        import numpy as np

        counts = np.bincount(groups, minlength=self._groups).tolist()
        if self._groups > 1:
            place = np.empty(self._groups, groups.dtype)
            place[self._order] = np.arange(self._groups)
            # Of numbers of one or two bytes numpy's stable sort is a radix sort.
            columns = columns.take(np.argsort(place[groups], kind="stable"))
        start = 0
        for group in self._order:
            stop = start + counts[group]
            yield group, columns[start:stop]
            start = stop


def count_rows_before(
    groups: np.ndarray[Any, Any], rows: Sequence[int], count: int
) -> dict[int, list[int]]:
    """Return, for each row in ``rows``, the number of rows of each group before it.

    ``rows`` must be in ascending order.
    """
    import numpy as np

    before, seen, last = {}, np.zeros(count, np.int64), 0
    for row in rows:
        seen = seen + np.bincount(groups[last:row], minlength=count)
        before[row], last = seen.tolist(), row
    return before
