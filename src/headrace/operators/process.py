"""A process function on a stream without keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.common.watermark_strategy import MIN_WATERMARK
from headrace.errors import NotKeyedError
from headrace.operators.emission import (
    SURELY_RESULTS,
    always_yields,
    emitter,
    look_at_results,
)
from headrace.runtime.loops import Push
from headrace.runtime.operator import Operator, OperatorSpec, Outputs, Signal, Traits
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.user_function import UserFunction


@dataclass(frozen=True)
class ProcessSpec(OperatorSpec):
    """``function(value, ctx)`` yields values and (tag, value) pairs."""

    function: UserFunction
    traits = Traits(side_outputs=True)
    kind = "process"
    label = "Process"

    def build(self) -> Operator:
        return ProcessOperator(self)


class ProcessContext:
    """The context of a process function without keys: it can read time, not set timers."""

    def __init__(self, cell: KeyContext) -> None:
        self._cell = cell
        self._timestamp: int | None = None
        self._watermark = MIN_WATERMARK

    def timestamp(self) -> int:
        """The record's timestamp (ms); ``MIN_WATERMARK`` where it has none, as in PyFlink."""
        return MIN_WATERMARK if self._timestamp is None else self._timestamp

    def timer_service(self) -> ProcessContext:
        """The clocks."""
        return self

    def current_processing_time(self) -> int:
        """The processing time (ms) of the micro-batch."""
        return self._cell.now_ms

    def current_watermark(self) -> int:
        """The watermark (ms) that this operator was given last."""
        return self._watermark

    def _refuse(self, timestamp: int) -> None:
        raise NotKeyedError(
            "a timer is set on a stream that is not keyed",
            hint="put .key_by(...) before .process(...) and use a function for keyed streams",
        )

    register_event_time_timer = _refuse
    register_processing_time_timer = _refuse
    delete_event_time_timer = _refuse
    delete_processing_time_timer = _refuse


class ProcessOperator(Operator):
    """Calls the process function for each record."""

    def __init__(self, spec: ProcessSpec) -> None:
        self._spec = spec

    def bind(self, outputs: Outputs) -> Push:
        function, node = self._spec.function.bound(), self.node
        may_return = not always_yields(function)
        emit = emitter(outputs)
        context = self._context = ProcessContext(self.cell)

        def push(value: Any, timestamp: int | None, node: Any = node) -> None:
            context._timestamp = timestamp
            results = function(value, context)
            if results is not None:
                # Most that do not yield return a list: it is asked for first, as that is faster.
                if may_return and type(results) is not list and type(results) not in SURELY_RESULTS:
                    look_at_results(results)
                emit(results, timestamp)

        return push

    def watermark(self, watermark: int, idle: bool, signal: Signal) -> None:
        """Keep the watermark for ``current_watermark``, and pass it on."""
        self._context._watermark = max(watermark, self._context._watermark)
        signal(watermark, idle)

    def snapshot(self) -> int:
        """The watermark, so that the next micro-batch starts with it."""
        return self._context._watermark

    def reopen(self) -> None:
        self.restore(None)

    def restore(self, state: Any | None) -> None:
        self._context._watermark = MIN_WATERMARK if state is None else state
