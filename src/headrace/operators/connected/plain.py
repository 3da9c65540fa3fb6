"""Functions of two streams without keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.common.watermark_strategy import MIN_WATERMARK
from headrace.operators.connected.elements import (
    Element,
    flat_map_elements,
    map_elements,
    process_elements,
)
from headrace.operators.emission import SURELY_RESULTS, emitter, look_at_results
from headrace.operators.process import ProcessContext
from headrace.runtime.loops import Push
from headrace.runtime.operator import Operator, OperatorSpec, Outputs, Signal, Traits
from headrace.runtime.user_function import UserFunction


@dataclass(frozen=True)
class CoProcessSpec(OperatorSpec):
    """``function.target`` has ``process_element1(value, ctx)`` and ``process_element2``."""

    function: UserFunction
    traits = Traits(inputs=2, side_outputs=True)
    kind = "co-process"
    label = "Co-Process"

    def elements(self) -> tuple[Element, Element]:
        """What is called for the records of each input."""
        return process_elements(self.function.target)

    def build(self) -> Operator:
        return CoProcessOperator(self)


@dataclass(frozen=True)
class CoMapSpec(CoProcessSpec):
    """``function.target`` has ``map1(value)`` and ``map2``."""

    kind = "co-map"
    label = "Co-Map"

    def elements(self) -> tuple[Element, Element]:
        """What is called for the records of each input."""
        return map_elements(self.function.target)


@dataclass(frozen=True)
class CoFlatMapSpec(CoProcessSpec):
    """``function.target`` has ``flat_map1(value)`` and ``flat_map2``."""

    kind = "co-flat-map"
    label = "Co-Flat Map"

    def elements(self) -> tuple[Element, Element]:
        """What is called for the records of each input."""
        return flat_map_elements(self.function.target)


class TimedOperator(Operator):
    """An operator without keys whose functions may ask for the watermark."""

    _watermark = MIN_WATERMARK

    def _reached(self, watermark: int) -> None:
        """Let the contexts know."""

    def watermark(self, watermark: int, idle: bool, signal: Signal) -> None:
        """Keep the watermark for ``current_watermark``, and pass it on."""
        self._watermark = max(watermark, self._watermark)
        self._reached(self._watermark)
        signal(watermark, idle)

    def snapshot(self) -> int:
        """The watermark, so that the next micro-batch starts with it."""
        return self._watermark

    def reopen(self) -> None:
        self.restore(None)

    def restore(self, state: Any | None) -> None:
        self._watermark = MIN_WATERMARK if state is None else state
        self._reached(self._watermark)


class CoProcessOperator(TimedOperator):
    """Calls the method of the input for each record."""

    def __init__(self, spec: CoProcessSpec) -> None:
        self._spec = spec

    def bind_inputs(self, outputs: Outputs) -> tuple[Push, ...]:
        """A push per input."""
        self._context = ProcessContext(self.cell)
        first, second = self._spec.elements()
        context = self._context
        return (
            element_push(self, first, context, outputs),
            element_push(self, second, context, outputs),
        )

    def _reached(self, watermark: int) -> None:
        self._context._watermark = watermark


def element_push(
    operator: Operator, element: Element, context: ProcessContext, outputs: Outputs
) -> Push:
    """The push that gives each record to a method, and emits what comes of it."""
    emit, node = emitter(outputs), operator.node

    def push(value: Any, timestamp: int | None, node: Any = node) -> None:
        context._timestamp = timestamp
        results = element(value, context)
        if results is not None:
            if type(results) not in SURELY_RESULTS:
                look_at_results(results)
            emit(results, timestamp)

    return push
