"""Pairs of records of two streams that have one key and happened near each other."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.common.output_tag import OutputTag
from headrace.common.watermark_strategy import MAX_WATERMARK
from headrace.operators.emission import (
    SURELY_RESULTS,
    always_yields,
    look_at_results,
    side_sender,
)
from headrace.operators.joins.pairs import next_look_ms, no_timestamp
from headrace.operators.keyed import StatefulOperator
from headrace.runtime.context import TaskContext
from headrace.runtime.loops import Push
from headrace.runtime.operator import (
    NodeProgram,
    Operator,
    OperatorSpec,
    Outputs,
    ProcessBlock,
    Traits,
)
from headrace.runtime.state.backend import RESERVED_NAMES, Timer
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.user_function import UserFunction

SLOT = RESERVED_NAMES + "interval-join"

CLEAR_MS, TIMER_MS, LEFT, RIGHT = 0, 1, 2, 4
"""Places in what is kept for a key: the watermark that makes one of its records useless, the time
of its timer (None: it has none), and for each side the timestamps in order, followed by the
records; both are None where there are no records."""

_LEAST_GRID_MS = 100


@dataclass(frozen=True)
class IntervalJoinSpec(OperatorSpec):
    """``function.target`` has ``process_element(left, right, ctx)``.

    A pair is joined if ``lower_ms <= right timestamp - left timestamp <= upper_ms``.
    ``left_late``, ``right_late``: ids of side outputs for late records; None: they are counted.
    """

    function: UserFunction
    lower_ms: int
    upper_ms: int
    left_late: str | None = None
    right_late: str | None = None
    traits = Traits(
        keyed=True,
        state=True,
        event_timers=True,
        event_time=True,
        side_outputs=True,
        keeps_emitted=True,
        inputs=2,
    )
    kind = "interval-join"

    @property
    def label(self) -> str:
        """The operator's default name."""
        return "IntervalJoin"

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        """The user's function."""
        return (self.function,)

    @property
    def left_kept_ms(self) -> int:
        """How long a left record is kept after its timestamp: no later one can be its pair."""
        return max(self.upper_ms, 0)

    @property
    def right_kept_ms(self) -> int:
        """How long a right record is kept after its timestamp."""
        return max(-self.lower_ms, 0)

    def build(self) -> Operator:
        """A new operator."""
        return IntervalJoinOperator(self)


class LeftContext:
    """What a ``ProcessJoinFunction`` sees while a left record meets right ones; times are ms."""

    __slots__ = ("other_ms", "own_ms")

    def __init__(self) -> None:
        self.own_ms = self.other_ms = 0

    def get_left_timestamp(self) -> int:
        """The timestamp (ms) of the left record."""
        return self.own_ms

    def get_right_timestamp(self) -> int:
        """The timestamp (ms) of the right record."""
        return self.other_ms

    def get_timestamp(self) -> int:
        """The later of the two (ms): that of the results."""
        return max(self.own_ms, self.other_ms)


class RightContext(LeftContext):
    """The same while a right record meets left ones."""

    __slots__ = ()

    def get_left_timestamp(self) -> int:
        """The timestamp (ms) of the left record."""
        return self.other_ms

    def get_right_timestamp(self) -> int:
        """The timestamp (ms) of the right record."""
        return self.own_ms


class IntervalJoinOperator(StatefulOperator):
    """Keeps the records of both sides by key, in the order of their timestamps.

    What the watermark has made useless is removed when its key is touched. For keys that nobody
    touches any more each has one timer, on a coarse grid of time (a quarter of what records are
    kept): it costs a key one timer, and not a timer for each record.
    """

    def __init__(self, spec: IntervalJoinSpec) -> None:
        self._spec = spec
        self._kept = ((LEFT, spec.left_kept_ms), (RIGHT, spec.right_kept_ms))
        self._grid_ms = max(max(kept for _, kept in self._kept) // 4, _LEAST_GRID_MS)

    def open(self, node: NodeProgram, context: TaskContext, cell: KeyContext) -> None:
        """Open the user's function, and say what is kept."""
        super().open(node, context, cell)
        assert context.states is not None, "a join is keyed"
        context.states.declare(SLOT)

    def bind(self, outputs: Outputs) -> Push:
        """Keyed operators take blocks; see ``processors``."""
        self._outputs = outputs
        spec = self._spec
        # As in Flink's operator: a right record looks for left ones the other way round.
        self._sides = (
            self._side(True, spec.lower_ms, spec.upper_ms, self._late(spec.left_late)),
            self._side(False, -spec.upper_ms, -spec.lower_ms, self._late(spec.right_late)),
        )
        return self.push_keyed

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        """Take records of the left stream."""
        self._sides[0](keys, values, timestamps)

    def processors(self) -> tuple[ProcessBlock, ...]:
        """The left stream is the first input, the right one the second."""
        return self._sides

    def _side(self, is_left: bool, lower_ms: int, upper_ms: int, late: Push) -> ProcessBlock:
        """What takes the records of one side, and joins each with what is kept of the other."""
        cell, clear, set_timer = self.cell, self._clear, self._set_timer
        side, mine, others = ("left", LEFT, RIGHT) if is_left else ("right", RIGHT, LEFT)
        kept_ms = self._spec.left_kept_ms if is_left else self._spec.right_kept_ms
        my_values, other_values = mine + 1, others + 1
        in_batch, join = self.context.is_batch, self._joiner(is_left)

        def process(
            keys: list[Any], values: list[Any], timestamps: list[int | None] | None
        ) -> None:
            node, watermark = self.node, cell.watermark
            enter, changed = cell.backend.enter, cell.backend.changed
            for key, value, timestamp in zip(
                keys, values, timestamps or [None] * len(values), strict=True
            ):
                if timestamp is None:
                    raise no_timestamp(node.name, side, value)
                if timestamp < watermark:
                    late(value, timestamp)
                    continue
                if in_batch:
                    watermark = timestamp - 1  # a batch comes by time, from both sides
                entry = enter(key)
                held = entry.get(SLOT)
                useless_ms = timestamp + kept_ms
                if useless_ms <= watermark:
                    useless_ms = watermark + 1  # as in Flink, it stays until the next watermark
                if held is None:
                    held = entry[SLOT] = [useless_ms, None, None, None, None, None]
                else:
                    if held[CLEAR_MS] <= watermark:
                        clear(held, watermark)
                    if useless_ms < held[CLEAR_MS]:
                        held[CLEAR_MS] = useless_ms
                times = held[mine]
                if times is None:
                    held[mine] = [timestamp]
                    held[my_values] = [value]
                elif times[-1] <= timestamp:
                    times.append(timestamp)
                    held[my_values].append(value)
                else:
                    place = bisect_right(times, timestamp)
                    times.insert(place, timestamp)
                    held[my_values].insert(place, value)
                if held[TIMER_MS] is None and not in_batch:
                    set_timer(key, held, useless_ms)
                changed(key)
                times = held[others]
                if times is not None and times[-1] >= timestamp + lower_ms:
                    first = bisect_left(times, timestamp + lower_ms)
                    last = bisect_right(times, timestamp + upper_ms, first)
                    if first < last:
                        cell.key, cell.entry, cell.event_ms = key, entry, timestamp
                        found = held[other_values][first:last]
                        join(value, timestamp, found, times[first:last])

        return process

    def _joiner(self, is_left: bool) -> Callable[[Any, int, list[Any], list[int]], None]:
        """What calls the user's function for a record of one side and those of the other."""
        element = self._spec.function.bound()
        context = LeftContext() if is_left else RightContext()
        main, to_side = self._outputs.main, side_sender(self._outputs)
        may_return = not always_yields(element)

        def join(value: Any, timestamp: int, found: list[Any], moments: list[int]) -> None:
            context.own_ms = timestamp
            for other, other_ms in zip(found, moments, strict=True):
                context.other_ms = other_ms
                if is_left:
                    results = element(value, other, context)
                else:
                    results = element(other, value, context)
                if results is None:
                    continue
                if may_return and type(results) not in SURELY_RESULTS:
                    look_at_results(results)
                later_ms = timestamp if timestamp >= other_ms else other_ms
                for result in results:
                    # As in ``emitter``, written out: it spares a call per pair.
                    if (
                        type(result) is tuple
                        and len(result) == 2
                        and isinstance(result[0], OutputTag)
                    ):
                        to_side(result, later_ms)
                    else:
                        main(result, later_ms)

        return join

    def _late(self, tag: str | None) -> Push:
        if tag is not None:
            return self._outputs.side(tag)
        dropped = self.context.get_metrics_group().counter("numLateRecordsDropped")

        def count(value: Any, timestamp: int | None) -> None:
            dropped.inc()

        return count

    def _clear(self, held: list[Any], watermark: int) -> None:
        """Remove the records that nothing can be joined with any more."""
        earliest = MAX_WATERMARK
        for side, kept_ms in self._kept:
            times = held[side]
            if times is None:
                continue
            if times[0] <= watermark - kept_ms:
                gone = bisect_right(times, watermark - kept_ms)
                if gone == len(times):
                    held[side : side + 2] = None, None
                    continue
                del times[:gone], held[side + 1][:gone]
            earliest = min(earliest, times[0] + kept_ms)
        held[CLEAR_MS] = earliest

    def _set_timer(self, key: Any, held: list[Any], moment_ms: int) -> None:
        held[TIMER_MS] = at = next_look_ms(moment_ms, self._grid_ms)
        self.cell.backend.event_timers.register(Timer(at, key))

    def fire_user_timer(self, timer: Timer, event_time: bool) -> None:
        """Clear a key. While it keeps records, it is looked at again when the last will be gone."""
        key, backend = timer.key, self.cell.backend
        entry = backend.enter(key)
        held = entry.get(SLOT)
        if held is None or held[TIMER_MS] != timer.time_ms:
            return
        self._clear(held, self.cell.watermark)
        last = [held[side][-1] + kept_ms for side, kept_ms in self._kept if held[side]]
        if last:
            self._set_timer(key, held, max(last))
        else:
            del entry[SLOT]
        backend.changed(key)
