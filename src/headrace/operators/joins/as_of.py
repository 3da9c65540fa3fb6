"""Records with what was last known of their key in another stream, at the time they happened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from headrace.common._types.data import type_data
from headrace.common._watermark_generators import MAX_WATERMARK, out_of_range
from headrace.operators.emission import SURELY_RESULTS, emitter, look_at_results
from headrace.operators.joins.pairs import (
    LEFT,
    RIGHT,
    SLOT,
    JoinOperator,
    JoinSpec,
    PairContext,
    next_look_ms,
    no_timestamp,
)
from headrace.runtime.loops import Push
from headrace.runtime.operator import Operator, Outputs, ProcessBlock
from headrace.runtime.state.backend import Entry, Timer
from headrace.runtime.state.time_buffer import TimeBuffer

Direction = Literal["backward", "forward", "nearest"]
Call = Literal["join", "flat_join", "process"]

Found = tuple[int, Any] | None
"""A right record after its timestamp (ms), or None."""

_NOTHING = TimeBuffer([], [])
_GRID_MS = 10_000
_LEAST_GRID_MS = 100


@dataclass(frozen=True)
class AsOfJoinSpec(JoinSpec):
    """``function`` gets each left record with the right one that fits it best, or None.

    ``call``: whether it gives one result for a pair, several, or several with a context.
    ``tolerance_ms``: how far apart the two may be; None only with direction ``backward``.
    ``inner``: left records that nothing fits are dropped. ``late``: the id of the side output for
    late left records; None: they are counted.
    """

    call: Call
    direction: Direction = "backward"
    tolerance_ms: int | None = None
    exact: bool = True
    inner: bool = False
    late: str | None = None
    kind = "as-of-join"

    @property
    def label(self) -> str:
        """The operator's default name."""
        return "AsOfJoin"

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


def chooser(spec: AsOfJoinSpec) -> Callable[[TimeBuffer, int], Found]:
    """A function from the right records and a left timestamp to the right record that fits.

    Of equal right timestamps it is the last record. Of two that are equally near, the earlier.
    """
    tolerance_ms = spec.tolerance_ms
    apart_ms = 0 if spec.exact else 1

    def backward(right: TimeBuffer, moment: int) -> Found:
        found = right.last_at_or_before(moment - apart_ms)
        if found is not None and tolerance_ms is not None and moment - found[0] > tolerance_ms:
            return None
        return found

    def forward(right: TimeBuffer, moment: int) -> Found:
        found = right.first_at_or_after(moment + apart_ms)
        assert tolerance_ms is not None, "who looks ahead has a tolerance"
        if found is None or found[0] - moment > tolerance_ms:
            return None
        return right.last_at_or_before(found[0])

    def nearest(right: TimeBuffer, moment: int) -> Found:
        behind, ahead = backward(right, moment), forward(right, moment)
        if behind is None or ahead is None:
            return behind or ahead
        return behind if moment - behind[0] <= ahead[0] - moment else ahead

    return {"backward": backward, "forward": forward, "nearest": nearest}[spec.direction]


class AsOfJoinOperator(JoinOperator):
    """Keeps the left records that wait for the watermark, and the right ones that may fit them.

    A key's own value is the time of its timer; a key that has none has no value.
    A key has a timer for the earliest of its left records that wait, and handles all of them that
    are ready when it fires. A key without any has one on a coarse grid, to remove right records.
    """

    own_type = type_data("LONG")

    def __init__(self, spec: AsOfJoinSpec) -> None:
        super().__init__(spec)
        self._spec = spec
        self._wait_ms, self._kept_ms = spec.wait_ms, spec.right_kept_ms
        kept_ms = self._kept_ms
        self._grid_ms = _GRID_MS if kept_ms is None else max(kept_ms // 4, _LEAST_GRID_MS)
        self._is_backward = spec.direction == "backward"
        self._choose = chooser(spec)

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
        node, key_context, wait_ms = self.node, self.key_context, self._wait_ms
        watermark, clear = key_context.watermark, self._clear
        enter, changed = key_context.backend.enter, key_context.backend.changed
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
            entry = enter(key)
            clear(entry, watermark)
            buffer = entry.get(LEFT)
            if buffer is None:
                entry[LEFT] = TimeBuffer([timestamp], [value])
            else:
                buffer.add(timestamp, value)
            timer_ms = entry.get(SLOT)
            if timer_ms is None or ready_ms < timer_ms:
                self._set_timer(key, entry, ready_ms)
            changed(key)

    def process_right(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        """Keep right records; late ones too, since left ones to come may still want them."""
        node, key_context, kept_ms = self.node, self.key_context, self._kept_ms
        watermark, clear = key_context.watermark, self._clear
        enter, changed = key_context.backend.enter, key_context.backend.changed
        for key, value, timestamp in zip(
            keys, values, timestamps or [None] * len(values), strict=True
        ):
            if timestamp is None:
                raise no_timestamp(node.name, "right", value)
            if kept_ms is not None and timestamp + kept_ms <= watermark:
                self._dropped.inc()  # nothing to come is so near to it
                continue
            entry = enter(key)
            clear(entry, watermark)
            buffer = entry.get(RIGHT)
            if buffer is None:
                entry[RIGHT] = TimeBuffer([timestamp], [value])
            else:
                buffer.add(timestamp, value)
            if SLOT not in entry:
                self._set_look(key, entry)
            changed(key)

    def _take_late(self, value: Any, timestamp: int) -> None:
        if self._late is None:
            self._dropped.inc()
        else:
            self._late(value, timestamp)

    def _join_ready(self, key: Any, entry: Entry, watermark: int) -> None:
        """Join the left records for which all right ones are known."""
        node, key_context, choose = self.node, self.key_context, self._choose  # noqa: F841
        join, inner, wait_ms = self._join, self._spec.inner, self._wait_ms
        left, right = entry[LEFT], entry.get(RIGHT, _NOTHING)
        times, values = left.take_through(watermark - wait_ms)
        if not left:
            del entry[LEFT]
        key_context.enter(key)
        for timestamp, value in zip(times, values, strict=True):
            key_context.event_ms = timestamp + wait_ms
            found = choose(right, timestamp)
            if found is not None:
                right_ms, right_value = found
                join(value, timestamp, right_value, right_ms)
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

    def _clear(self, entry: Entry, watermark: int) -> None:
        """Remove the right records that fit no left one to come."""
        right, kept_ms = entry.get(RIGHT), self._kept_ms
        if right is not None:
            if kept_ms is not None and right.remove_through(watermark - kept_ms) is None:
                del entry[RIGHT]
            elif self._is_backward:
                right.keep_from(watermark)

    def _set_look(self, key: Any, entry: Entry) -> None:
        """Set a timer for when right records can be removed, if some ever can."""
        right, kept_ms = entry[RIGHT], self._kept_ms
        if kept_ms is not None:
            self._set_timer(key, entry, next_look_ms(right.last_ms + kept_ms, self._grid_ms))
        elif not right.is_single:
            self._set_timer(key, entry, next_look_ms(right.last_ms, self._grid_ms))

    def _set_timer(self, key: Any, entry: Entry, moment_ms: int) -> None:
        entry[SLOT] = moment_ms
        self.key_context.backend.event_timers.register(Timer(moment_ms, key))

    def fire_user_timer(self, timer: Timer, event_time: bool) -> None:
        """Join what is ready, remove what is not needed, and set the key's next timer."""
        key, backend, watermark = timer.key, self.key_context.backend, self.key_context.watermark
        entry = backend.enter(key)
        if entry.get(SLOT) != timer.time_ms:
            return
        del entry[SLOT]
        if LEFT in entry:
            self._join_ready(key, entry, watermark)
        self._clear(entry, watermark)
        if LEFT in entry:
            self._set_timer(key, entry, entry[LEFT].first_ms + self._wait_ms)
        elif RIGHT in entry:
            self._set_look(key, entry)
        backend.changed(key)
