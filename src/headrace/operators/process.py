"""Process functions on a stream without keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.common.watermark_strategy import MIN_WATERMARK
from headrace.errors import NotKeyedError
from headrace.operators.emission import (
    EXPECTED_RESULT_TYPES,
    always_yields,
    check_results,
    emitter,
)
from headrace.runtime.loops import Push
from headrace.runtime.operator import Operator, OperatorSpec, Outputs, PushWatermark, Traits
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.user_function import UserFunction


@dataclass(frozen=True)
class ProcessSpec(OperatorSpec):
    """``function(value, ctx)`` yields values and ``(tag, value)`` pairs."""

    function: UserFunction
    traits = Traits(side_outputs=True)
    kind = "process"
    label = "Process"

    def build(self) -> Operator:
        return ProcessOperator(self)


class ProcessContext:
    """The context of a process function without keys: it cannot set timers."""

    def __init__(self, key_context: KeyContext) -> None:
        self._key_context = key_context
        self._timestamp: int | None = None
        self._watermark = MIN_WATERMARK

    def timestamp(self) -> int:
        """Return the record's timestamp (ms); ``MIN_WATERMARK`` if it has none, as in PyFlink."""
        return MIN_WATERMARK if self._timestamp is None else self._timestamp

    def timer_service(self) -> ProcessContext:
        """Return this context, which has the current times."""
        return self

    def current_processing_time(self) -> int:
        """Return the processing time (ms) of the micro-batch."""
        return self._key_context.now_ms

    def current_watermark(self) -> int:
        """Return the last watermark (ms) that came to this operator."""
        return self._watermark

    def _reject_timer(self, timestamp: int) -> None:
        raise NotKeyedError(
            "a timer is set on a stream that is not keyed",
            hint="put .key_by(...) before .process(...) and use a function for keyed streams",
        )

    register_event_time_timer = _reject_timer
    register_processing_time_timer = _reject_timer
    delete_event_time_timer = _reject_timer
    delete_processing_time_timer = _reject_timer


class ProcessOperator(Operator):
    """Calls the process function for each record; with several inputs, a method for each."""

    _watermark = MIN_WATERMARK

    def __init__(self, spec: ProcessSpec) -> None:
        self._spec = spec

    def elements(self) -> tuple[Any, ...]:
        """Return the functions for the records of each input."""
        return (self._spec.function.as_callable(),)

    def contexts(self) -> tuple[ProcessContext, ...]:
        """Return the contexts that the operator's functions receive."""
        return (ProcessContext(self.key_context),)

    def bind(self, outputs: Outputs) -> Push:
        return self.bind_inputs(outputs)[0]

    def bind_inputs(self, outputs: Outputs) -> tuple[Push, ...]:
        self._contexts = self.contexts()
        return tuple(
            self._push(element, context, outputs)
            for element, context in zip(self.elements(), self._contexts, strict=True)
        )

    def _push(self, element: Any, context: ProcessContext, outputs: Outputs) -> Push:
        may_return, emit = not always_yields(element), emitter(outputs)

        def push(value: Any, timestamp: int | None, node: Any = self.node) -> None:
            context._timestamp = timestamp
            results = element(value, context)
            if results is not None:
                # Functions that do not yield mostly return a list, so it is checked first.
                if (
                    may_return
                    and type(results) is not list
                    and type(results) not in EXPECTED_RESULT_TYPES
                ):
                    check_results(results)
                emit(results, timestamp)

        return push

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        """Keep the watermark for ``current_watermark``, and pass it on."""
        self._set_watermark(max(watermark, self._watermark))
        push_watermark(watermark, idle)

    def snapshot(self) -> int:
        """Return the watermark, with which the next micro-batch starts."""
        return self._watermark

    def reopen(self) -> None:
        self.restore(None)

    def restore(self, state: Any | None) -> None:
        self._set_watermark(MIN_WATERMARK if state is None else state)

    def _set_watermark(self, watermark: int) -> None:
        self._watermark = watermark
        for context in self._contexts:
            context._watermark = watermark
