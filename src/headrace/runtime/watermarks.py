"""The watermark of a task with several inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from headrace.common.watermark_strategy import MAX_WATERMARK, MIN_WATERMARK
from headrace.runtime.block import Block, Mark
from headrace.runtime.channel import Channel
from headrace.runtime.program import JobProgram, VertexProgram


def reopened_watermark(watermark: int) -> int:
    """Return the watermark (ms) of a reopened input: the minimum if it had ended."""
    return MIN_WATERMARK if watermark >= MAX_WATERMARK else watermark


ChannelState = dict[Channel, tuple[int, bool]]
"""Channel to (watermark in ms, idle)."""


class ChannelWatermarks:
    """The minimum watermark (ms) of the active channels; it never falls.

    A channel is anything upstream with a watermark of its own: a split, or a task. While all
    channels are idle, the maximum of their watermarks counts, as in Flink. An ended channel is
    ignored until all have ended. ``state`` may be stored between micro-batches; after a change of
    it, call ``restart``, unless ``update`` was not called yet.
    """

    __slots__ = ("_active", "current", "idle", "state")

    def __init__(self, state: ChannelState | None = None, current: int = MIN_WATERMARK) -> None:
        self.restart({} if state is None else state, current)

    def restart(self, state: ChannelState, current: int) -> None:
        """Set the channels and the current watermark."""
        self.state = state
        self.current = current
        self._active: list[tuple[int, Channel]] | None = None
        running = [idle for watermark, idle in state.values() if watermark < MAX_WATERMARK]
        self.idle = bool(running) and all(running)

    def to_data(self) -> dict[tuple[Any, ...], tuple[int, bool]]:
        """Return the channels as plain data, for the header, without splits that have ended."""
        return {
            (*channel,): at
            for channel, at in self.state.items()
            if at[0] < MAX_WATERMARK or channel[1] is None
        }

    def forget_splits(self, exchange: str) -> None:
        """Drop the splits of an exchange; the watermark stays.

        If they alone were idle, or not idle, the next ``update`` says so.
        """
        idle = self.idle
        state = {c: at for c, at in self.state.items() if c[0] != exchange or c[1] is None}
        self.restart(state, self.current)
        self.idle = idle

    def update(self, channel: Channel, watermark: int, idle: bool = False) -> bool:
        """Process one mark; return True if the combined watermark or the idleness changed."""
        known = self.state.get(channel)
        if known is not None:
            if watermark < known[0]:
                watermark = known[0]
            if known == (watermark, idle):
                return False
        self.state[channel] = (watermark, idle)
        if self._active is not None and not idle and watermark < MAX_WATERMARK:
            heappush(self._active, (watermark, channel))
        return self._combine()

    def _combine(self) -> bool:
        combined, idle = self._least_active(), False
        if combined is None:
            running = [
                watermark for watermark, _ in self.state.values() if watermark < MAX_WATERMARK
            ]
            combined, idle = max(running, default=MAX_WATERMARK), bool(running)
        changed = combined > self.current or idle != self.idle
        if combined > self.current:
            self.current = combined
        self.idle = idle
        return changed

    def _least_active(self) -> int | None:
        """Return the minimum watermark of the channels that count; None if there are none.

        A heap is used, as a monitored folder has thousands of channels, each with its own marks;
        outdated items are removed when they are at the top.
        """
        active, state = self._active, self.state
        if active is None:
            active = self._active = [
                (watermark, channel)
                for channel, (watermark, idle) in state.items()
                if not idle and watermark < MAX_WATERMARK
            ]
            heapify(active)
        while active:
            watermark, channel = active[0]
            if state.get(channel) == (watermark, False):
                return watermark
            heappop(active)
        return None


class InputWatermarks(ChannelWatermarks):
    """The watermark (ms) of an operator with several inputs: the minimum of those not idle.

    Each input has a watermark over its channels, which never falls. ``input_of`` returns the input
    number of a channel. An input without a watermark holds the others back, as in Flink. While all
    inputs are idle, the watermark stays. An ended input is ignored until all have ended.
    """

    __slots__ = ("_input_of", "_inputs")

    def __init__(self, count: int, input_of: Callable[[Channel], int]) -> None:
        self._inputs = [ChannelWatermarks() for _ in range(count)]
        self._input_of = input_of
        super().__init__()

    def restart(
        self, state: ChannelState, current: int, reached: Sequence[int] | None = None
    ) -> None:
        """Set the channels and the current watermark.

        ``reached``: the watermark of each input; None: the present ones stay.
        """
        super().restart(state, current)
        if reached is None:
            reached = self.list_watermarks()
        elif len(reached) != len(self._inputs):
            reached = [MIN_WATERMARK] * len(self._inputs)  # it is new, or had other inputs
        for number, inputs in enumerate(self._inputs):
            own = {c: at for c, at in state.items() if self._input_of(c) == number}
            inputs.restart(own, reached[number])
        self.idle = self._combine_watermarks()[1]

    def watermark(self, input_index: int) -> int:
        """Return the watermark (ms) of an input."""
        return self._inputs[input_index].current

    def list_watermarks(self) -> tuple[int, ...]:
        """Return the watermark (ms) of each input."""
        return tuple(inputs.current for inputs in self._inputs)

    def update(self, channel: Channel, watermark: int, idle: bool = False) -> bool:
        """Process one mark; return True if the combined watermark or the idleness changed."""
        inputs = self._inputs[self._input_of(channel)]
        inputs.update(channel, watermark, idle)
        self.state[channel] = inputs.state[channel]
        combined, idle = self._combine_watermarks()
        changed = combined > self.current or idle != self.idle
        self.current, self.idle = max(combined, self.current), idle
        return changed

    def _combine_watermarks(self) -> tuple[int, bool]:
        """Return the minimum watermark of the active inputs, and whether there are none.

        Inputs that have ended do not count.
        """
        running = [inputs for inputs in self._inputs if inputs.current < MAX_WATERMARK]
        active = [inputs.current for inputs in running if not inputs.idle]
        if active:
            return min(active), False
        return (self.current, True) if running else (MAX_WATERMARK, False)


class NodeInputs:
    """The watermarks of a node inside a chain with several nodes upstream, or several inputs.

    ``all``: the combined watermark. A channel is named by the id of the node upstream; if the node
    has ``several`` inputs, the channel's group is the input number.
    """

    def __init__(self, count: int) -> None:
        self.several = count > 1
        self._each = InputWatermarks(count, lambda channel: channel.group or 0)
        self.all = self._each if self.several else ChannelWatermarks()

    def add(self, channel: Channel) -> None:
        """Add a channel; call it before its first record."""
        self.all.restart({**self.all.state, channel: (MIN_WATERMARK, False)}, self.all.current)

    def watermark(self, input_index: int) -> int:
        """Return the watermark (ms) of an input, if there are several."""
        return self._each.watermark(input_index)

    def update(self, channel: Channel, watermark: int, idle: bool) -> bool:
        """Process one mark; return True if the combined watermark or the idleness changed."""
        return self.all.update(channel, watermark, idle)

    def restore(self, stored: tuple[Any, ...] | None) -> None:
        """Restore the result of ``stored``, for known channels; None: the initial state."""
        known, current, *reached = stored or ({}, MIN_WATERMARK)
        state = {c: known.get(_name_of(c), (MIN_WATERMARK, False)) for c in self.all.state}
        if self.several:
            self._each.restart(state, current, *reached or ((),))
        else:
            self.all.restart(state, current)

    def reopen(self) -> None:
        """Reset the watermarks of ended channels, as they get records again."""
        state = {c: (reopened_watermark(at), idle) for c, (at, idle) in self.all.state.items()}
        current = reopened_watermark(self.all.current)
        if self.several:
            self._each.restart(
                state, current, [*map(reopened_watermark, self._each.list_watermarks())]
            )
        else:
            self.all.restart(state, current)

    def to_data(self) -> tuple[Any, ...]:
        """Return plain data for ``restore``; its second field is the combined watermark."""
        known = {_name_of(channel): mark for channel, mark in self.all.state.items()}
        if not self.several:
            return known, self.all.current
        return known, self.all.current, self._each.list_watermarks()


def _name_of(channel: Channel) -> Any:
    return channel.exchange if channel.group is None else (channel.exchange, channel.group)


class EmptyGroupIdleness:
    """Idleness of key groups upstream that have never sent a record.

    It concerns exchanges whose key groups have watermarks of their own. With few keys most key
    groups stay empty, and must not hold the others back. So as soon as one channel of an exchange
    has a watermark, those without one are idle. A channel's first watermark makes it active, from
    the beginning of that micro-batch. Before that, and for subtasks of other exchanges, the
    watermark waits for all channels, as in Flink.
    """

    def __init__(self, vertex: VertexProgram, job: JobProgram) -> None:
        keyed = {
            exchange.id
            for stage in job.stages
            for feeder in stage
            if feeder.keyed
            for exchange in feeder.chain.exchanges
        }
        self._siblings: dict[str, list[Channel]] = {}
        for channel in vertex.input_channels:
            if channel.group is not None and channel.exchange in keyed:
                self._siblings.setdefault(channel.exchange, []).append(channel)

    def _list_siblings(self, channel: Channel) -> list[Channel]:
        """Return the channels of the same exchange."""
        return self._siblings.get(channel.exchange, []) if self._siblings else []

    def update_idleness(self, watermarks: ChannelWatermarks, blocks: Iterable[Block]) -> None:
        """Mark channels idle that never had a watermark, except those with a mark in ``blocks``.

        The task calls it before each micro-batch.
        """
        if not self._siblings:
            return
        with_marks = {
            mark.channel
            for block in blocks
            if block.merged_channel is None
            for mark in block.marks
            if mark.watermark > MIN_WATERMARK and self._list_siblings(mark.channel)
        }
        if not with_marks:
            return
        state = watermarks.state
        for exchange in {channel.exchange for channel in with_marks}:
            for channel in self._siblings[exchange]:
                if state[channel][0] == MIN_WATERMARK:
                    state[channel] = (MIN_WATERMARK, channel not in with_marks)
        watermarks.restart(state, watermarks.current)

    def should_ignore(self, watermarks: ChannelWatermarks, mark: Mark) -> bool:
        """Return True if a mark must be ignored, because its group has no watermark yet."""
        if mark.watermark > MIN_WATERMARK or mark.idle:
            return False
        siblings, state = self._list_siblings(mark.channel), watermarks.state
        return any(state[channel][0] > MIN_WATERMARK for channel in siblings)
