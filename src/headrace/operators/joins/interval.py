"""Interval join: pairs of records of one key whose timestamps are close to each other."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Any

from headrace.common._output_tag import OutputTag
from headrace.common._types.data import type_data
from headrace.common.watermark_strategy import MAX_WATERMARK
from headrace.operators.emission import (
    EXPECTED_RESULT_TYPES,
    always_yields,
    check_results,
    side_output_sender,
)
from headrace.operators.joins.base import (
    LEFT,
    RIGHT,
    TIMER_SLOT,
    JoinOperator,
    JoinSpec,
    missing_timestamp_error,
    round_up_to_grid,
)
from headrace.runtime.loops import Push
from headrace.runtime.operator import Operator, Outputs, ProcessBlock
from headrace.runtime.state.backend import Entry, Timer
from headrace.runtime.state.time_buffer import TimeBuffer

_MIN_GRID_MS = 100


@dataclass(frozen=True)
class IntervalJoinSpec(JoinSpec):
    """``function.target`` has ``process_element(left, right, ctx)``.

    A pair is joined if ``lower_ms <= right timestamp - left timestamp <= upper_ms``. ``left_late``,
    ``right_late``: ids of the side outputs of late records; None counts them.
    """

    lower_ms: int
    upper_ms: int
    left_late: str | None = None
    right_late: str | None = None
    kind = "interval-join"

    @property
    def label(self) -> str:
        return "IntervalJoin"

    @property
    def left_retention_ms(self) -> int:
        """How long a left record is kept: until no right record to come can match."""
        return max(self.upper_ms, 0)

    @property
    def right_retention_ms(self) -> int:
        """How long a right record is kept."""
        return max(-self.lower_ms, 0)

    @property
    def removes_after_ms(self) -> tuple[int | None, ...]:  # type: ignore[override]
        return self.left_retention_ms, self.right_retention_ms

    def build(self) -> Operator:
        return IntervalJoinOperator(self)


class LeftContext:
    """The context of a ``ProcessJoinFunction`` when a left record arrives."""

    __slots__ = ("other_ms", "record_ms")

    def __init__(self) -> None:
        self.record_ms = self.other_ms = 0

    def get_left_timestamp(self) -> int:
        """Return the timestamp (ms) of the left record."""
        return self.record_ms

    def get_right_timestamp(self) -> int:
        """Return the timestamp (ms) of the right record."""
        return self.other_ms

    def get_timestamp(self) -> int:
        """Return the later of the two (ms): that of the results."""
        return max(self.record_ms, self.other_ms)


class RightContext(LeftContext):
    """The context when a right record arrives."""

    __slots__ = ()

    def get_left_timestamp(self) -> int:
        return self.other_ms

    def get_right_timestamp(self) -> int:
        return self.record_ms


class IntervalJoinOperator(JoinOperator):
    """Joins each record with the buffered records of the other side.

    The state ``TIMER_SLOT`` is a pair: the watermark at which the key's next record expires, and
    the time of the key's timer. Expired records are removed when a record of their key arrives. For
    other keys there is the timer: one per key, not per record, on a coarse grid of a quarter of the
    retention.
    """

    timer_type = type_data("TUPLE", type_data("LONG"), type_data("LONG"))

    def __init__(self, spec: IntervalJoinSpec) -> None:
        super().__init__(spec)
        self._spec = spec
        self._retention_by_slot = ((LEFT, spec.left_retention_ms), (RIGHT, spec.right_retention_ms))
        self._grid_ms = max(
            max(retention_ms for _, retention_ms in self._retention_by_slot) // 4, _MIN_GRID_MS
        )

    def bind(self, outputs: Outputs) -> Push:
        self._outputs = outputs
        spec = self._spec
        # As in Flink's operator: for a right record the bounds are mirrored.
        self._sides = (
            self._make_processor(
                True, spec.lower_ms, spec.upper_ms, self._late_push(spec.left_late)
            ),
            self._make_processor(
                False, -spec.upper_ms, -spec.lower_ms, self._late_push(spec.right_late)
            ),
        )
        return self.reject_record

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        """Take records of the left stream."""
        self._sides[0](keys, values, timestamps)

    def processors(self) -> tuple[ProcessBlock, ...]:
        return self._sides

    def _make_processor(
        self, is_left: bool, lower_ms: int, upper_ms: int, late: Push
    ) -> ProcessBlock:
        """Make the function that takes one side's records and joins them with the other side's."""
        key_context, remove_expired, set_timer = (
            self.key_context,
            self._remove_expired,
            self._set_timer,
        )
        side, own_slot, other_slot = ("left", LEFT, RIGHT) if is_left else ("right", RIGHT, LEFT)
        retention_ms = self._spec.left_retention_ms if is_left else self._spec.right_retention_ms
        element = self._spec.function.as_callable()
        context = LeftContext() if is_left else RightContext()
        main, to_side = self._outputs.main, side_output_sender(self._outputs)
        may_return = not always_yields(element)

        def process(
            keys: list[Any], values: list[Any], timestamps: list[int | None] | None
        ) -> None:
            node, watermark = self.node, key_context.watermark
            enter, changed = key_context.backend.enter, key_context.backend.changed
            for key, value, timestamp in zip(
                keys, values, timestamps or [None] * len(values), strict=True
            ):
                if timestamp is None:
                    raise missing_timestamp_error(node.name, side, value)
                if timestamp < watermark:
                    late(value, timestamp)
                    continue
                entry = enter(key)
                timer_state = entry.get(TIMER_SLOT)
                expiry_ms = timestamp + retention_ms
                if expiry_ms <= watermark:
                    expiry_ms = watermark + 1  # as in Flink, it stays until the next watermark
                if timer_state is None:
                    set_timer(key, entry, expiry_ms, expiry_ms)
                else:
                    cleanup_ms, timer_ms = timer_state
                    if cleanup_ms <= watermark:
                        cleanup_ms = remove_expired(entry, watermark)
                        entry[TIMER_SLOT] = (
                            expiry_ms if expiry_ms < cleanup_ms else cleanup_ms,
                            timer_ms,
                        )
                    elif expiry_ms < cleanup_ms:
                        entry[TIMER_SLOT] = expiry_ms, timer_ms
                buffer = entry.get(own_slot)
                if buffer is None:
                    entry[own_slot] = TimeBuffer([timestamp], [value])
                elif type(buffer) is TimeBuffer:
                    times = buffer.times  # ``add``, inlined
                    if times[-1] <= timestamp:
                        times.append(timestamp)
                        buffer.values.append(value)
                    else:
                        position = bisect_right(times, timestamp)
                        times.insert(position, timestamp)
                        buffer.values.insert(position, value)
                else:
                    buffer.add(timestamp, value)
                changed(key)
                buffer = entry.get(other_slot)
                if buffer is None:
                    continue
                if type(buffer) is TimeBuffer:
                    times = buffer.times
                    if times[-1] < timestamp + lower_ms:
                        continue
                    # ``between``, inlined
                    start = bisect_left(times, timestamp + lower_ms)
                    end = bisect_right(times, timestamp + upper_ms, start)
                    if start == end:
                        continue
                    moments, found = times[start:end], buffer.values[start:end]
                else:
                    moments, found = buffer.between(timestamp + lower_ms, timestamp + upper_ms)
                    if not moments:
                        continue
                key_context.key, key_context.entry, key_context.event_ms = key, entry, timestamp
                context.record_ms = timestamp
                for other, other_ms in zip(found, moments, strict=True):
                    context.other_ms = other_ms
                    if is_left:
                        results = element(value, other, context)
                    else:
                        results = element(other, value, context)
                    if results is None:
                        continue
                    result_type = type(results)
                    if (
                        result_type is not list
                        and may_return
                        and result_type not in EXPECTED_RESULT_TYPES
                    ):
                        check_results(results)
                    later_ms = timestamp if timestamp >= other_ms else other_ms
                    for result in results:
                        # ``emitter``, inlined
                        if (
                            type(result) is tuple
                            and len(result) == 2
                            and isinstance(result[0], OutputTag)
                        ):
                            to_side(result, later_ms)
                        else:
                            main(result, later_ms)

        return process

    def _late_push(self, tag: str | None) -> Push:
        if tag is not None:
            return self._outputs.side(tag)
        dropped = self.context.get_metrics_group().counter("numLateRecordsDropped")

        def count(value: Any, timestamp: int | None) -> None:
            dropped.inc()

        return count

    def _remove_expired(self, entry: Entry, watermark: int) -> int:
        """Remove expired records.

        Return the watermark at which the next one expires, or an earlier one.
        """
        earliest = MAX_WATERMARK
        for side, retention_ms in self._retention_by_slot:
            buffer = entry.get(side)
            if buffer is None:
                continue
            if type(buffer) is TimeBuffer:
                times = buffer.times  # ``remove_through``, inlined
                if times[-1] + retention_ms <= watermark:
                    del entry[side]
                    continue
                least_ms = times[0]
                if least_ms + retention_ms <= watermark:
                    end = bisect_right(times, watermark - retention_ms)
                    del times[:end], buffer.values[:end]
                    least_ms = times[0]
            else:
                least_ms = buffer.remove_through(watermark - retention_ms)
                if least_ms is None:
                    del entry[side]
                    continue
            if least_ms + retention_ms < earliest:
                earliest = least_ms + retention_ms
        return earliest

    def _set_timer(self, key: Any, entry: Entry, cleanup_ms: int, moment_ms: int) -> None:
        """Register the key's timer, and store it with the watermark of the next expiry."""
        at = round_up_to_grid(moment_ms, self._grid_ms)
        entry[TIMER_SLOT] = cleanup_ms, at
        self.key_context.backend.event_timers.register(Timer(at, key))

    def fire_user_timer(self, timer: Timer, is_event_time: bool) -> None:
        """Remove expired records of a key, and set its timer again while it has records."""
        key, backend = timer.key, self.key_context.backend
        entry = backend.enter(key)
        timer_state = entry.get(TIMER_SLOT)
        if timer_state is None or timer_state[1] != timer.time_ms:
            return
        cleanup_ms = self._remove_expired(entry, self.key_context.watermark)
        if cleanup_ms < MAX_WATERMARK:
            last = [
                entry[side].last_ms + retention_ms
                for side, retention_ms in self._retention_by_slot
                if side in entry
            ]
            self._set_timer(key, entry, cleanup_ms, max(last))
        else:
            del entry[TIMER_SLOT]
        backend.changed(key)
