"""Process functions with keyed state and timers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from headrace.common._time_domain import TimeDomain
from headrace.common.watermark_strategy import MIN_WATERMARK
from headrace.errors import MissingWatermarksError
from headrace.operators.emission import EXPECTED_RESULT_TYPES, check_results, emitter, results_step
from headrace.operators.inspection import inspect_function
from headrace.operators.keyed import SteppedOperator, user_timer
from headrace.runtime.loops import Push, Step
from headrace.runtime.operator import Operator, OperatorSpec, Outputs, Traits
from headrace.runtime.state.backend import Timer
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.user_function import UserFunction


@dataclass(frozen=True)
class KeyedProcessSpec(OperatorSpec):
    """``function.target`` has ``process_element(value, ctx)`` and perhaps ``on_timer``."""

    function: UserFunction
    kind = "keyed-process"
    label = "KeyedProcess"
    fixed_traits = Traits(keyed=True, state=True, side_outputs=True)
    """Traits that do not depend on the function's code."""

    @cached_property
    def traits(self) -> Traits:  # type: ignore[override]
        """With the timers that the function's code uses.

        Cached, as reading the code takes milliseconds.
        """
        usage = inspect_function(self.function.target)
        return replace(
            self.fixed_traits,
            event_timers=usage.event_timers,
            processing_timers=usage.processing_timers,
            event_time=usage.event_timers,
        )

    def build(self) -> Operator:
        return KeyedProcessOperator(self)


class KeyedContext:
    """The context of ``process_element``, with its timer service."""

    def __init__(self, key_context: KeyContext) -> None:
        self._key_context = key_context
        self._timestamp: int | None = None

    def get_current_key(self) -> Any:
        """Return the key of the record."""
        return self._key_context.user_key()

    def timestamp(self) -> int:
        """Return the timestamp (ms) of the record or timer; ``MIN_WATERMARK`` if it has none."""
        return MIN_WATERMARK if self._timestamp is None else self._timestamp

    def timer_service(self) -> KeyedContext:
        """Return the timer service of the current key."""
        return self

    def current_processing_time(self) -> int:
        """Return the processing time (ms) of the micro-batch."""
        return self._key_context.now_ms

    def current_watermark(self) -> int:
        """Return the watermark (ms) of this task."""
        return self._key_context.watermark

    def _make_timer(self, timestamp: int) -> Timer:
        return Timer(int(timestamp), self._key_context.key)

    def register_event_time_timer(self, timestamp: int) -> None:
        """Call ``on_timer`` when the watermark passes ``timestamp`` (ms).

        Raises:
            MissingWatermarksError: ``timestamp`` was computed from that of a record without one.
            TypeMismatchError: the timestamp does not fit 64 bits.
        """
        if timestamp < _MIN_TIMER_MS and self._timestamp is None:
            raise _missing_timestamp_error(timestamp)
        self._key_context.backend.event_timers.register(
            user_timer(timestamp, self._key_context.key)
        )

    def register_processing_time_timer(self, timestamp: int) -> None:
        """Call ``on_timer`` when the clock passes ``timestamp`` (ms).

        Raises:
            TypeMismatchError: the timestamp does not fit 64 bits.
        """
        self._key_context.backend.processing_timers.register(
            user_timer(timestamp, self._key_context.key)
        )

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Delete an event-time timer."""
        self._key_context.backend.event_timers.delete(self._make_timer(timestamp))

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Delete a processing-time timer."""
        self._key_context.backend.processing_timers.delete(self._make_timer(timestamp))


_MIN_TIMER_MS = MIN_WATERMARK // 2
"""A time (ms) before this was computed from ``MIN_WATERMARK``, the timestamp of a record without
one."""


def _missing_timestamp_error(timestamp: int) -> MissingWatermarksError:
    return MissingWatermarksError(
        f"an event-time timer is set for {timestamp} ms, but the record has no timestamp",
        hint="the source sets no timestamps: add to the watermark strategy"
        " .with_timestamp_assigner(lambda record: <ms>)",
    )


class TimerContext(KeyedContext):
    """The context of ``on_timer``."""

    def __init__(self, key_context: KeyContext) -> None:
        super().__init__(key_context)
        self._domain = TimeDomain.EVENT_TIME

    def time_domain(self) -> TimeDomain:
        """Return whether the timer is of event time or processing time."""
        return self._domain


class KeyedProcessOperator(SteppedOperator):
    """Calls the process function for each record and each timer, under its key."""

    def __init__(self, spec: KeyedProcessSpec) -> None:
        self._spec = spec

    def bind(self, outputs: Outputs) -> Push:
        self._emit = emitter(outputs)
        self._on_timer = getattr(self._spec.function.target, "on_timer", None)
        self._context, self._timer_context = self.contexts()
        return super().bind(outputs)

    def contexts(self) -> tuple[KeyedContext, TimerContext]:
        """Return the contexts of ``process_element`` and of ``on_timer``."""
        return KeyedContext(self.key_context), TimerContext(self.key_context)

    def steps(self, outputs: Outputs) -> tuple[Step, ...]:
        return (results_step(self.node, self._spec.function.as_callable(), self._context, outputs),)

    def fire_user_timer(self, timer: Timer, is_event_time: bool) -> None:
        """Call ``on_timer`` under the timer's key."""
        if self._on_timer is None:
            return
        node, key, timestamp = self.node, timer.key, timer.time_ms  # noqa: F841
        context = self._timer_context
        context._timestamp = timestamp
        context._domain = TimeDomain.EVENT_TIME if is_event_time else TimeDomain.PROCESSING_TIME
        self.key_context.enter_timer(timer, is_event_time)
        results = self._on_timer(timestamp, context)
        if results is not None:
            if type(results) not in EXPECTED_RESULT_TYPES:
                check_results(results)
            self._emit(results, timestamp if is_event_time else None)
