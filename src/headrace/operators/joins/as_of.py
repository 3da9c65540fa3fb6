"""As-of join: each left record with the right record of its key that was valid at its time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from headrace.common._types.data import type_data
from headrace.common._watermark_generators import MAX_WATERMARK, out_of_range
from headrace.operators.emission import EXPECTED_RESULT_TYPES, check_results, emitter
from headrace.operators.joins.base import (
    LEFT,
    RIGHT,
    TIMER_SLOT,
    JoinOperator,
    JoinSpec,
    PairContext,
    missing_timestamp_error,
    round_up_to_grid,
)
from headrace.runtime.loops import Push
from headrace.runtime.operator import Operator, Outputs, ProcessBlock
from headrace.runtime.state.backend import Entry, Timer
from headrace.runtime.state.time_buffer import TimeBuffer

Direction = Literal["backward", "forward", "nearest"]
Call = Literal["join", "flat_join", "process"]

RightMatch = tuple[int, Any] | None
"""The timestamp (ms) and the value of a right record; None for no match."""

_EMPTY_BUFFER = TimeBuffer([], [])
_GRID_MS = 10_000
_MIN_GRID_MS = 100


@dataclass(frozen=True)
class AsOfJoinSpec(JoinSpec):
    """``function`` gets each left record with the matching right record, or None.

    ``call``: whether it returns one result, returns several, or gets a context and returns several.
    ``tolerance_ms``: the maximum distance of both timestamps; None only for direction ``backward``.
    ``exact``: whether equal timestamps match. ``inner``: left records without a match are dropped.
    ``late``: the id of the side output of late left records; None counts them.
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
        return "AsOfJoin"

    @property
    def left_wait_ms(self) -> int:
        """How far the watermark must pass a left record before it is joined."""
        return 0 if self.direction == "backward" else self.tolerance_ms or 0

    @property
    def right_retention_ms(self) -> int | None:
        """How long a right record is kept; None: until a later one of its key is valid."""
        if self.tolerance_ms is None:
            return None
        return self.tolerance_ms * (2 if self.direction == "nearest" else 1)

    @property
    def removes_after_ms(self) -> tuple[int | None, ...]:  # type: ignore[override]
        return (self.right_retention_ms,)

    def build(self) -> Operator:
        return AsOfJoinOperator(self)


def match_finder(spec: AsOfJoinSpec) -> Callable[[TimeBuffer, int], RightMatch]:
    """Return a function that finds the matching right record for a left timestamp.

    Of right records with equal timestamps the last one matches, of two at equal distance the
    earlier.
    """
    tolerance_ms = spec.tolerance_ms
    min_distance_ms = 0 if spec.exact else 1

    def backward(right: TimeBuffer, moment: int) -> RightMatch:
        match = right.last_at_or_before(moment - min_distance_ms)
        if match is not None and tolerance_ms is not None and moment - match[0] > tolerance_ms:
            return None
        return match

    def forward(right: TimeBuffer, moment: int) -> RightMatch:
        match = right.first_at_or_after(moment + min_distance_ms)
        assert tolerance_ms is not None, "who looks ahead has a tolerance"
        if match is None or match[0] - moment > tolerance_ms:
            return None
        return right.last_at_or_before(match[0])

    def nearest(right: TimeBuffer, moment: int) -> RightMatch:
        earlier, later = backward(right, moment), forward(right, moment)
        if earlier is None or later is None:
            return earlier or later
        return earlier if moment - earlier[0] <= later[0] - moment else later

    return {"backward": backward, "forward": forward, "nearest": nearest}[spec.direction]


class AsOfJoinOperator(JoinOperator):
    """Buffers left records until the watermark passes them, and right records while they may match.

    Each key with buffered left records has one timer, for the earliest of them; it joins all that
    are due. A key with right records only has a timer on a coarse grid, which removes expired
    records. The state ``TIMER_SLOT`` is the time of the key's timer.
    """

    timer_type = type_data("LONG")

    def __init__(self, spec: AsOfJoinSpec) -> None:
        super().__init__(spec)
        self._spec = spec
        self._left_wait_ms, self._retention_ms = spec.left_wait_ms, spec.right_retention_ms
        retention_ms = self._retention_ms
        self._grid_ms = _GRID_MS if retention_ms is None else max(retention_ms // 4, _MIN_GRID_MS)
        self._is_backward = spec.direction == "backward"
        self._find_match = match_finder(spec)

    def bind(self, outputs: Outputs) -> Push:
        self._main, self._emit = outputs.main, emitter(outputs)
        late = self._spec.late
        self._late_push = None if late is None else outputs.side(late)
        self._late_counter = self.context.get_metrics_group().counter("numLateRecordsDropped")
        self._context = PairContext()
        self._function = self._spec.function.as_callable()
        self._join = (
            self._call_with_context if self._spec.call == "process" else self._call_with_pair
        )
        return self.reject_record

    def processors(self) -> tuple[ProcessBlock, ...]:
        return self.process, self.process_right

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        """Buffer left records until the watermark passes them."""
        node, key_context, left_wait_ms = self.node, self.key_context, self._left_wait_ms
        watermark, remove_expired = key_context.watermark, self._remove_expired
        enter, changed = key_context.backend.enter, key_context.backend.changed
        for key, value, timestamp in zip(
            keys, values, timestamps or [None] * len(values), strict=True
        ):
            if timestamp is None:
                raise missing_timestamp_error(node.name, "left", value)
            ready_ms = timestamp + left_wait_ms
            if ready_ms <= watermark:
                self._emit_late(value, timestamp)
                continue
            if ready_ms > MAX_WATERMARK:
                raise out_of_range("a left record can be joined at", ready_ms)
            entry = enter(key)
            remove_expired(entry, watermark)
            buffer = entry.get(LEFT)
            if buffer is None:
                entry[LEFT] = TimeBuffer([timestamp], [value])
            else:
                buffer.add(timestamp, value)
            timer_ms = entry.get(TIMER_SLOT)
            if timer_ms is None or ready_ms < timer_ms:
                self._set_timer(key, entry, ready_ms)
            changed(key)

    def process_right(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        """Buffer right records, late ones too: left records to come may still match them."""
        node, key_context, retention_ms = self.node, self.key_context, self._retention_ms
        watermark, remove_expired = key_context.watermark, self._remove_expired
        enter, changed = key_context.backend.enter, key_context.backend.changed
        for key, value, timestamp in zip(
            keys, values, timestamps or [None] * len(values), strict=True
        ):
            if timestamp is None:
                raise missing_timestamp_error(node.name, "right", value)
            if retention_ms is not None and timestamp + retention_ms <= watermark:
                self._late_counter.inc()  # no left record to come can match it
                continue
            entry = enter(key)
            remove_expired(entry, watermark)
            buffer = entry.get(RIGHT)
            if buffer is None:
                entry[RIGHT] = TimeBuffer([timestamp], [value])
            else:
                buffer.add(timestamp, value)
            if TIMER_SLOT not in entry:
                self._set_cleanup_timer(key, entry)
            changed(key)

    def _emit_late(self, value: Any, timestamp: int) -> None:
        if self._late_push is None:
            self._late_counter.inc()
        else:
            self._late_push(value, timestamp)

    def _join_due(self, key: Any, entry: Entry, watermark: int) -> None:
        """Join the left records whose right records are complete by the watermark."""
        node, key_context, find_match = self.node, self.key_context, self._find_match  # noqa: F841
        join, inner, left_wait_ms = self._join, self._spec.inner, self._left_wait_ms
        left, right = entry[LEFT], entry.get(RIGHT, _EMPTY_BUFFER)
        times, values = left.take_through(watermark - left_wait_ms)
        if not left:
            del entry[LEFT]
        key_context.enter(key)
        for timestamp, value in zip(times, values, strict=True):
            key_context.event_ms = timestamp + left_wait_ms
            match = find_match(right, timestamp)
            if match is not None:
                right_ms, right_value = match
                join(value, timestamp, right_value, right_ms)
            elif not inner:
                join(value, timestamp, None, None)

    def _call_with_pair(self, left: Any, left_ms: int, right: Any, right_ms: int | None) -> None:
        """Call a function ``(left, right)``."""
        result = self._function(left, right)
        if self._spec.call == "join":
            self._main(result, left_ms + self._left_wait_ms)
        else:
            self._emit_results(result, left_ms + self._left_wait_ms)

    def _call_with_context(self, left: Any, left_ms: int, right: Any, right_ms: int | None) -> None:
        """Call a function ``(left, right, context)``."""
        context = self._context
        context.left_ms, context.right_ms = left_ms, right_ms
        context.result_ms = left_ms + self._left_wait_ms
        self._emit_results(self._function(left, right, context), context.result_ms)

    def _emit_results(self, results: Any, timestamp: int) -> None:
        if results is not None:
            if type(results) not in EXPECTED_RESULT_TYPES:
                check_results(results)
            self._emit(results, timestamp)

    def _remove_expired(self, entry: Entry, watermark: int) -> None:
        """Remove the right records that no left record to come can match."""
        right, retention_ms = entry.get(RIGHT), self._retention_ms
        if right is not None:
            if retention_ms is not None and right.remove_through(watermark - retention_ms) is None:
                del entry[RIGHT]
            elif self._is_backward:
                right.keep_from(watermark)

    def _set_cleanup_timer(self, key: Any, entry: Entry) -> None:
        """Set a timer for the removal of right records, unless the only one never expires."""
        right, retention_ms = entry[RIGHT], self._retention_ms
        if retention_ms is not None:
            self._set_timer(
                key, entry, round_up_to_grid(right.last_ms + retention_ms, self._grid_ms)
            )
        elif not right.is_single:
            self._set_timer(key, entry, round_up_to_grid(right.last_ms, self._grid_ms))

    def _set_timer(self, key: Any, entry: Entry, moment_ms: int) -> None:
        entry[TIMER_SLOT] = moment_ms
        self.key_context.backend.event_timers.register(Timer(moment_ms, key))

    def fire_user_timer(self, timer: Timer, is_event_time: bool) -> None:
        """Join the records that are due, remove expired records, and set the key's next timer."""
        key, backend, watermark = timer.key, self.key_context.backend, self.key_context.watermark
        entry = backend.enter(key)
        if entry.get(TIMER_SLOT) != timer.time_ms:
            return
        del entry[TIMER_SLOT]
        if LEFT in entry:
            self._join_due(key, entry, watermark)
        self._remove_expired(entry, watermark)
        if LEFT in entry:
            self._set_timer(key, entry, entry[LEFT].first_ms + self._left_wait_ms)
        elif RIGHT in entry:
            self._set_cleanup_timer(key, entry)
        backend.changed(key)
