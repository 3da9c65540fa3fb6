"""Records with what was last known of their key in another stream, at the time they happened."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from headrace.common.watermark_generators import MAX_WATERMARK, out_of_range
from headrace.operators.emission import SURELY_RESULTS, emitter, look_at_results
from headrace.operators.joins.pairs import PairContext, next_look_ms, no_timestamp
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

Direction = Literal["backward", "forward", "nearest"]
Call = Literal["join", "flat_join", "process"]

SLOT = RESERVED_NAMES + "as-of-join"

TIMER_MS, LEFT, RIGHT = 0, 1, 3
"""Places in what is kept for a key: the time of its earliest timer (None: it has none), and for
each side the timestamps in order, followed by the records."""

_GRID_MS = 10_000
_LEAST_GRID_MS = 100


@dataclass(frozen=True)
class AsOfJoinSpec(OperatorSpec):
    """``function`` gets each left record with the right one that fits it best, or None.

    ``call``: whether it gives one result for a pair, several, or several with a context.
    ``tolerance_ms``: how far apart the two may be; None only with direction ``backward``.
    ``inner``: left records that nothing fits are dropped. ``late``: the id of the side output for
    late left records; None: they are counted.
    """

    function: UserFunction
    call: Call
    direction: Direction = "backward"
    tolerance_ms: int | None = None
    exact: bool = True
    inner: bool = False
    late: str | None = None
    traits = Traits(
        keyed=True,
        state=True,
        event_timers=True,
        event_time=True,
        side_outputs=True,
        keeps_emitted=True,
        inputs=2,
    )
    kind = "as-of-join"

    @property
    def label(self) -> str:
        """The operator's default name."""
        return "AsOfJoin"

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        """The user's function."""
        return (self.function,)

    @property
    def wait_ms(self) -> int:
        """How long after its timestamp a left record waits for right ones."""
        return 0 if self.direction == "backward" else self.tolerance_ms or 0

    @property
    def right_kept_ms(self) -> int | None:
        """How long a right record is kept after its timestamp; None: until a later one is known."""
        if self.tolerance_ms is None:
            return None
        return self.tolerance_ms * (2 if self.direction == "nearest" else 1)

    def build(self) -> Operator:
        """A new operator."""
        return AsOfJoinOperator(self)


def chooser(spec: AsOfJoinSpec) -> Callable[[list[int], int], int]:
    """A function from the right timestamps, in order, and a left one to the place that fits, or -1.

    Of equal right timestamps it is the last place. Of two that are equally near it is the earlier.
    """
    tolerance_ms = spec.tolerance_ms
    before = bisect_right if spec.exact else bisect_left
    after = bisect_left if spec.exact else bisect_right

    def backward(times: list[int], moment: int) -> int:
        place = before(times, moment) - 1
        if place >= 0 and tolerance_ms is not None and moment - times[place] > tolerance_ms:
            return -1
        return place

    def forward(times: list[int], moment: int) -> int:
        place = after(times, moment)
        assert tolerance_ms is not None, "who looks ahead has a tolerance"
        if place == len(times) or times[place] - moment > tolerance_ms:
            return -1
        return bisect_right(times, times[place], place) - 1

    def nearest(times: list[int], moment: int) -> int:
        behind, ahead = backward(times, moment), forward(times, moment)
        if behind < 0 or ahead < 0:
            return max(behind, ahead)
        return behind if moment - times[behind] <= times[ahead] - moment else ahead

    return {"backward": backward, "forward": forward, "nearest": nearest}[spec.direction]


class AsOfJoinOperator(StatefulOperator):
    """Keeps the left records that wait for the watermark, and the right ones that may fit them.

    A key has a timer for the earliest of its left records that wait, and handles all of them that
    are ready when it fires. A key without any has one on a coarse grid, to remove right records.
    """

    def __init__(self, spec: AsOfJoinSpec) -> None:
        self._spec = spec
        self._wait_ms, self._kept_ms = spec.wait_ms, spec.right_kept_ms
        kept_ms = self._kept_ms
        self._grid_ms = _GRID_MS if kept_ms is None else max(kept_ms // 4, _LEAST_GRID_MS)
        self._choose = chooser(spec)

    def open(self, node: NodeProgram, context: TaskContext, cell: KeyContext) -> None:
        """Open the user's function, and say what is kept."""
        super().open(node, context, cell)
        assert context.states is not None, "a join is keyed"
        context.states.declare(SLOT)

    def bind(self, outputs: Outputs) -> Push:
        """Keyed operators take blocks; see ``processors``."""
        self._main, self._emit = outputs.main, emitter(outputs)
        late = self._spec.late
        self._late = None if late is None else outputs.side(late)
        self._dropped = self.context.get_metrics_group().counter("numLateRecordsDropped")
        self._context = PairContext()
        self._function = self._spec.function.bound()
        self._join = self._process if self._spec.call == "process" else self._apply
        return self.push_keyed

    def processors(self) -> tuple[ProcessBlock, ...]:
        """The left stream is the first input, the right one the second."""
        return self.process, self.process_right

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        """Let left records wait for the watermark."""
        node, cell, wait_ms = self.node, self.cell, self._wait_ms
        in_batch, watermark = self.context.is_batch, cell.watermark
        changed = cell.backend.changed
        for key, value, timestamp in zip(
            keys, values, timestamps or [None] * len(values), strict=True
        ):
            if timestamp is None:
                raise no_timestamp(node.name, "left", value)
            ready_ms = timestamp + wait_ms
            if ready_ms <= watermark:
                self._take_late(value, timestamp)
                continue
            if ready_ms > MAX_WATERMARK:
                raise out_of_range("a left record can be joined at", ready_ms)
            held = self._held(key, timestamp - 1 if in_batch else watermark)
            _insert(held, LEFT, timestamp, value)
            if held[TIMER_MS] is None or ready_ms < held[TIMER_MS]:
                self._set_timer(key, held, ready_ms)
            changed(key)

    def process_right(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        """Keep right records; late ones too, since left ones to come may still want them."""
        node, cell, kept_ms = self.node, self.cell, self._kept_ms
        in_batch, watermark = self.context.is_batch, cell.watermark
        changed = cell.backend.changed
        for key, value, timestamp in zip(
            keys, values, timestamps or [None] * len(values), strict=True
        ):
            if timestamp is None:
                raise no_timestamp(node.name, "right", value)
            if kept_ms is not None and timestamp + kept_ms <= watermark:
                self._dropped.inc()  # nothing to come is so near to it
                continue
            held = self._held(key, timestamp - 1 if in_batch else watermark)
            _insert(held, RIGHT, timestamp, value)
            if held[TIMER_MS] is None and not in_batch:
                self._set_look(key, held)
            changed(key)

    def _held(self, key: Any, watermark: int) -> list[Any]:
        """What is kept for a key, without what the watermark has made useless."""
        entry = self.cell.backend.enter(key)
        held: list[Any] | None = entry.get(SLOT)
        if held is None:
            held = entry[SLOT] = [None, [], [], [], []]
            return held
        if held[LEFT] and held[LEFT][0] + self._wait_ms <= watermark:
            self._join_ready(key, held, watermark)  # in a batch only: else it was a timer's turn
        self._clear(held, watermark)
        return held

    def _take_late(self, value: Any, timestamp: int) -> None:
        if self._late is None:
            self._dropped.inc()
        else:
            self._late(value, timestamp)

    def _join_ready(self, key: Any, held: list[Any], watermark: int) -> None:
        """Join the left records for which all right ones are known."""
        node, cell, choose = self.node, self.cell, self._choose  # noqa: F841
        join, inner, wait_ms = self._join, self._spec.inner, self._wait_ms
        times, values = held[LEFT], held[LEFT + 1]
        ready = bisect_right(times, watermark - wait_ms)
        lefts = [*zip(times[:ready], values[:ready], strict=True)]
        del times[:ready], values[:ready]
        right_times, rights = held[RIGHT], held[RIGHT + 1]
        cell.enter(key)
        for timestamp, value in lefts:
            cell.event_ms = timestamp + wait_ms
            place = choose(right_times, timestamp)
            if place >= 0:
                join(value, timestamp, rights[place], right_times[place])
            elif not inner:
                join(value, timestamp, None, None)

    def _apply(self, left: Any, left_ms: int, right: Any, right_ms: int | None) -> None:
        """Call a function that takes the pair."""
        result = self._function(left, right)
        if self._spec.call == "join":
            self._main(result, left_ms + self._wait_ms)
        else:
            self._take_results(result, left_ms + self._wait_ms)

    def _process(self, left: Any, left_ms: int, right: Any, right_ms: int | None) -> None:
        """Call a function that takes the pair and a context."""
        context = self._context
        context.left_ms, context.right_ms = left_ms, right_ms
        context.result_ms = left_ms + self._wait_ms
        self._take_results(self._function(left, right, context), context.result_ms)

    def _take_results(self, results: Any, timestamp: int) -> None:
        if results is not None:
            if type(results) not in SURELY_RESULTS:
                look_at_results(results)
            self._emit(results, timestamp)

    def _clear(self, held: list[Any], watermark: int) -> None:
        """Remove the right records that fit no left one to come."""
        times = held[RIGHT]
        gone = 0
        if self._kept_ms is not None:
            gone = bisect_right(times, watermark - self._kept_ms)
        if self._spec.direction == "backward":
            gone = max(gone, bisect_right(times, watermark) - 1)
        if gone > 0:
            del times[:gone], held[RIGHT + 1][:gone]

    def _set_look(self, key: Any, held: list[Any]) -> None:
        """Set a timer for when right records can be removed, if some ever can."""
        times, kept_ms = held[RIGHT], self._kept_ms
        if kept_ms is not None:
            self._set_timer(key, held, next_look_ms(times[-1] + kept_ms, self._grid_ms))
        elif len(times) > 1:
            self._set_timer(key, held, next_look_ms(times[-1], self._grid_ms))

    def _set_timer(self, key: Any, held: list[Any], moment_ms: int) -> None:
        held[TIMER_MS] = moment_ms
        self.cell.backend.event_timers.register(Timer(moment_ms, key))

    def fire_user_timer(self, timer: Timer, event_time: bool) -> None:
        """Join what is ready, remove what is not needed, and set the key's next timer."""
        key, backend, watermark = timer.key, self.cell.backend, self.cell.watermark
        entry = backend.enter(key)
        held = entry.get(SLOT)
        if held is None or held[TIMER_MS] != timer.time_ms:
            return
        held[TIMER_MS] = None
        if held[LEFT]:
            self._join_ready(key, held, watermark)
        self._clear(held, watermark)
        if held[LEFT]:
            self._set_timer(key, held, held[LEFT][0] + self._wait_ms)
        elif held[RIGHT]:
            self._set_look(key, held)
        else:
            del entry[SLOT]
        backend.changed(key)


def _insert(held: list[Any], side: int, timestamp: int, value: Any) -> None:
    """Put a record after those that are not younger."""
    times = held[side]
    if not times or times[-1] <= timestamp:
        times.append(timestamp)
        held[side + 1].append(value)
    else:
        place = bisect_right(times, timestamp)
        times.insert(place, timestamp)
        held[side + 1].insert(place, value)
