"""Functions of two streams without keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.common.watermark_strategy import MIN_WATERMARK
from headrace.operators.connected.elements import (
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
    """``function.target`` has ``process_element1(value, ctx)`` and ``process_element2``.

    ``elements``: what is called for the records of each input.
    """

    function: UserFunction
    elements = staticmethod(process_elements)
    traits = Traits(inputs=2, side_outputs=True)
    kind = "co-process"
    label = "Co-Process"

    def build(self) -> Operator:
        return CoProcessOperator(self)


@dataclass(frozen=True)
class CoMapSpec(CoProcessSpec):
    """``function.target`` has ``map1(value)`` and ``map2``."""

    elements = staticmethod(map_elements)
    kind = "co-map"
    label = "Co-Map"


@dataclass(frozen=True)
class CoFlatMapSpec(CoProcessSpec):
    """``function.target`` has ``flat_map1(value)`` and ``flat_map2``."""

    elements = staticmethod(flat_map_elements)
    kind = "co-flat-map"
    label = "Co-Flat Map"


class CoProcessOperator(Operator):
    """Calls the method of the input for each record. Its contexts know the watermark."""

    _watermark = MIN_WATERMARK

    def __init__(self, spec: CoProcessSpec) -> None:
        self._spec = spec

    def contexts(self) -> tuple[ProcessContext, ProcessContext]:
        """What the methods see."""
        context = ProcessContext(self.cell)
        return context, context

    def bind_inputs(self, outputs: Outputs) -> tuple[Push, ...]:
        """A push per input."""
        self._contexts = self.contexts()
        elements = self._spec.elements(self._spec.function.target)
        return tuple(
            self._push(element, context, outputs)
            for element, context in zip(elements, self._contexts, strict=True)
        )

    def _push(self, element: Any, context: ProcessContext, outputs: Outputs) -> Push:
        emit = emitter(outputs)

        def push(value: Any, timestamp: int | None, node: Any = self.node) -> None:
            context._timestamp = timestamp
            results = element(value, context)
            if results is not None:
                if type(results) not in SURELY_RESULTS:
                    look_at_results(results)
                emit(results, timestamp)

        return push

    def watermark(self, watermark: int, idle: bool, signal: Signal) -> None:
        """Keep the watermark for ``current_watermark``, and pass it on."""
        self._reach(max(watermark, self._watermark))
        signal(watermark, idle)

    def snapshot(self) -> int:
        """The watermark, so that the next micro-batch starts with it."""
        return self._watermark

    def reopen(self) -> None:
        self.restore(None)

    def restore(self, state: Any | None) -> None:
        self._reach(MIN_WATERMARK if state is None else state)

    def _reach(self, watermark: int) -> None:
        self._watermark = watermark
        for context in self._contexts:
            context._watermark = watermark
