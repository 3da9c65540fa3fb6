"""The order in which a keyed task reads the blocks of a stream.

The order must be the same in every run of a micro-batch, for any order of the shuffle. And no
record may be read under a higher watermark than its own input had when the record was sent. Three
rules define the order of a stream:

- The blocks of one sender are read in the order in which they were sent.
- The blocks of one channel are read in the order of its senders.
- Otherwise the records under the lowest watermark are read first. A mark is read as soon as it is
  next. So no input is read far ahead of the others, and the number of open timers does not grow
  with the micro-batch.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from headrace.common.watermark_strategy import MIN_WATERMARK
from headrace.runtime.block import Block, Mark
from headrace.runtime.channel import Channel
from headrace.runtime.ordering.run import Read, Run
from headrace.runtime.ordering.runs import concatenate_runs, merge_adjacent_runs

Reached = Mapping[Any, tuple[int, bool]]
"""Channel to (watermark in ms, idle): where each stood before the micro-batch."""


class _Piece(NamedTuple):
    """A range of a block's records, not decoded yet."""

    block: Block
    start: int
    stop: int


_Lane = deque[tuple[Any, "_Piece | Mark"]]
"""What one sender sent, or all senders of a merged channel: each item with its channel."""


def merge_stream_blocks(
    blocks: Sequence[Block], senders: Sequence[int], reached: Reached
) -> Iterator[Read]:
    """Yield the runs and marks of a stream's blocks, merged by watermark.

    ``blocks``: sorted by (sender, seq). ``senders``: the sender of each block; empty if all have
    the same sender. ``reached``: the current watermark of each channel.
    """
    watermarks = {channel: watermark for channel, (watermark, _) in reached.items()}
    lanes = _lanes_of(blocks, senders, watermarks)
    opened = _open_blocks(lanes)
    for together, found in groupby(_merge_lanes(lanes, watermarks), _merge_key):
        reads = (opened.read(item) for _, item in found)
        yield from reads if together is None else merge_adjacent_runs(reads)


def _lanes_of(
    blocks: Sequence[Block], senders: Sequence[int], watermarks: Mapping[Any, int]
) -> list[_Lane]:
    merged: dict[Channel, list[Block]] = {}
    by_sender: dict[int, list[Block]] = {}
    for number, block in enumerate(blocks):
        if block.merged_channel is not None:
            merged.setdefault(block.merged_channel, []).append(block)
        else:
            by_sender.setdefault(senders[number] if senders else 0, []).append(block)
    lanes = [_read_sender_blocks(number, sent) for number, sent in enumerate(by_sender.values())]
    for channel, sent in sorted(merged.items(), key=itemgetter(0)):
        if channel.of_dataframe:
            items = _read_dataframe_blocks(sent)
        else:
            items = _merge_equal_watermarks(channel, sent, watermarks.get(channel, MIN_WATERMARK))
        lanes.append(deque((channel, item) for item in items))
    return lanes


def merge_senders(blocks: Sequence[Block], senders: Sequence[int], reached: Reached) -> Block:
    """Merge the blocks of several senders into one block, in the order of ``merge_stream_blocks``.

    Records keep their channels, so that they can be merged with what others sent.
    """
    watermarks = {channel: watermark for channel, (watermark, _) in reached.items()}
    runs: list[Run] = []
    count = 0
    marks: list[Mark] = []
    channel_starts: list[tuple[int, Channel]] = []
    lanes = _lanes_of(blocks, senders, watermarks)
    opened = _open_blocks(lanes)
    for channel, item in _merge_lanes(lanes, watermarks):
        if isinstance(item, Mark):
            marks.append(item._replace(position=count))
            continue
        run = opened.read(item)
        if isinstance(channel, Channel) and (
            not channel_starts or channel_starts[-1][1] != channel
        ):
            channel_starts.append((count, channel))
        runs.append(run)
        count += len(run.values)
    now_ms = max((block.now_ms for block in blocks), default=0)
    joined = concatenate_runs(runs) if runs else Run(None, [], None, 0)
    return Block(
        None,
        joined.values,
        joined.timestamps,
        False,
        marks,
        None,
        now_ms,
        channel_starts=(*channel_starts,),
    )


class _OpenedBlocks:
    """The decoded records of blocks, each kept until its last run is read."""

    def __init__(self, pieces: Iterable[_Piece]) -> None:
        self._left: dict[int, int] = {}
        self._runs: dict[int, Run] = {}
        for piece in pieces:
            self._left[id(piece.block)] = self._left.get(id(piece.block), 0) + 1

    def read(self, item: _Piece | Mark) -> Any:
        """Return the run of a piece; return a mark unchanged."""
        if isinstance(item, Mark):
            return item
        block, start, stop = item
        number = id(block)
        run = self._runs.pop(number, None) or Run.of(block)
        self._left[number] -= 1
        if self._left[number]:
            self._runs[number] = run
        return run.slice(start, stop)


def _open_blocks(lanes: Iterable[_Lane]) -> _OpenedBlocks:
    return _OpenedBlocks(item for lane in lanes for _, item in lane if isinstance(item, _Piece))


def _merge_key(pair: tuple[Any, _Piece | Mark]) -> Any:
    """Return the merged channel of an item whose short runs may be read as one; else None."""
    _, item = pair
    channel = None if isinstance(item, Mark) else item.block.merged_channel
    return None if channel is None or channel.of_dataframe else channel


def _merge_lanes(
    lanes: list[_Lane], watermarks: dict[Any, int]
) -> Iterator[tuple[Any, _Piece | Mark]]:
    """Merge lanes: always yield the next item of the channel with the lowest watermark.

    A lane has to wait while an earlier lane has items of the same channel.
    """
    if len(lanes) == 1:
        yield from lanes[0]
        return
    turns: dict[Any, deque[int]] = {}
    left: list[Counter[Any]] = []
    for number, lane in enumerate(lanes):
        left.append(Counter(channel for channel, _ in lane))
        for channel in left[-1]:
            turns.setdefault(channel, deque()).append(number)
    ready: list[tuple[bool, int, int]] = []

    def consider(number: int) -> None:
        lane = lanes[number]
        if lane and turns[lane[0][0]][0] == number:
            channel, item = lane[0]
            is_run = isinstance(item, _Piece)
            # Marks come before any run, so that new channels are known before one advances.
            at = watermarks.get(channel, MIN_WATERMARK) if is_run else MIN_WATERMARK
            heappush(ready, (is_run, at, number))

    for number in range(len(lanes)):
        consider(number)
    while ready:
        *_, number = heappop(ready)
        channel, item = lanes[number].popleft()
        if isinstance(item, Mark):
            known = watermarks.get(item.channel, MIN_WATERMARK)
            watermarks[item.channel] = max(known, item.watermark)
        yield channel, item
        left[number][channel] -= 1
        if not left[number][channel]:
            turns[channel].popleft()
            if turns[channel]:
                waiting = lanes[turns[channel][0]]
                if waiting and waiting[0][0] == channel:
                    consider(turns[channel][0])
        consider(number)


def _read_sender_blocks(sender_index: int, blocks: Iterable[Block]) -> _Lane:
    """Yield the pieces and marks of one sender, in order."""
    lane: _Lane = deque()
    for block in blocks:
        position = 0
        for place, channel, mark in _split_runs(block):
            if place > position:
                known = channel if channel is not None else ("sender", sender_index)
                lane.append((known, _Piece(block, position, place)))
                position = place
            if mark is not None:
                lane.append((mark.channel, mark))
    return lane


def _split_runs(block: Block) -> Iterator[tuple[int, Any, Mark | None]]:
    """Yield the end of each run in a block: (position, the run's channel, the mark there).

    The records of a block without ``channel_starts`` belong to the channel of the next mark.
    """
    channel_starts, at, channel = block.channel_starts, 0, None
    for mark in block.marks:
        if not channel_starts:
            channel = mark.channel
        while at < len(channel_starts) and channel_starts[at][0] <= mark.position:
            yield channel_starts[at][0], channel, None
            channel, at = channel_starts[at][1], at + 1
        yield mark.position, channel, mark
    for position, opened in channel_starts[at:]:
        yield position, channel, None
        channel = opened
    yield len(block.values), channel, None


def _merge_equal_watermarks(
    channel: Any, blocks: list[Block], reached: int
) -> Iterator[_Piece | Mark]:
    """Yield all senders' records under one watermark before any record under the next.

    All key groups upstream have the same sequence of watermarks, so records emitted under one of
    them may be placed after it, for every sender.
    """
    pieces: list[tuple[int, _Piece]] = []
    last: Mark | None = None
    for block in blocks:
        first, position = block.first_watermark_ms, 0
        watermark_ms = MIN_WATERMARK if first is None else first
        for mark in block.marks:
            if mark.position > position:
                pieces.append((watermark_ms, _Piece(block, position, mark.position)))
                position = mark.position
            watermark_ms = max(watermark_ms, mark.watermark)
            if last is None or mark.watermark >= last.watermark:
                last = mark
        if position < len(block.values):
            pieces.append((watermark_ms, _Piece(block, position, len(block.values))))
    pieces.sort(key=itemgetter(0))
    for watermark_ms, piece in pieces:
        if watermark_ms > reached:
            yield Mark(0, channel, watermark_ms)
            reached = watermark_ms
        yield piece
    if last is not None:
        yield last


def _read_dataframe_blocks(blocks: list[Block]) -> Iterator[_Piece | Mark]:
    """Yield all records of a DataFrame, then one mark: its tasks read rows at the same time."""
    lowest: Mark | None = None
    for block in blocks:
        if block.values:
            yield _Piece(block, 0, len(block.values))
        for mark in block.marks:
            if mark.watermark == MIN_WATERMARK:
                yield mark
            elif lowest is None or mark.watermark < lowest.watermark:
                lowest = mark
    if lowest is not None:
        yield lowest
