"""Functions of two keyed streams: equal keys meet, and share their state and timers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from headrace.operators.connected.elements import (
    Element,
    flat_map_elements,
    map_elements,
    process_elements,
)
from headrace.operators.emission import results_step
from headrace.operators.inspection import inspect_function
from headrace.operators.keyed_process import KeyedProcessOperator, KeyedProcessSpec
from headrace.runtime.loops import Step
from headrace.runtime.operator import Operator, Outputs, Traits
from headrace.runtime.user_function import UserFunction


def keyed_traits(function: UserFunction, shared: bool = False) -> Traits:
    """The traits of a keyed process function with two inputs: what its code uses."""
    uses = inspect_function(function.target)
    return Traits(
        keyed=True,
        state=True,
        event_timers=uses.event_timers,
        processing_timers=uses.processing_timers,
        event_time=uses.event_timers,
        side_outputs=True,
        inputs=2,
        shared=shared,
    )


@dataclass(frozen=True)
class KeyedCoProcessSpec(KeyedProcessSpec):
    """``function.target`` has ``process_element1``, ``process_element2``, perhaps ``on_timer``."""

    kind = "keyed-co-process"
    label = "Keyed Co-Process"

    @cached_property
    def traits(self) -> Traits:  # type: ignore[override]
        """What the function's code uses. It is read once, since that takes milliseconds."""
        return keyed_traits(self.function)

    def elements(self) -> tuple[Element, Element]:
        """What is called for the records of each input."""
        return process_elements(self.function.target)

    def build(self) -> Operator:
        return KeyedCoProcessOperator(self)


@dataclass(frozen=True)
class KeyedCoMapSpec(KeyedCoProcessSpec):
    """``function.target`` has ``map1(value)`` and ``map2``, and may use keyed state."""

    kind = "keyed-co-map"
    label = "Co-Map"
    traits = Traits(keyed=True, state=True, side_outputs=True, inputs=2)

    def elements(self) -> tuple[Element, Element]:
        """What is called for the records of each input."""
        return map_elements(self.function.target)


@dataclass(frozen=True)
class KeyedCoFlatMapSpec(KeyedCoProcessSpec):
    """``function.target`` has ``flat_map1(value)`` and ``flat_map2``, and may use keyed state."""

    kind = "keyed-co-flat-map"
    label = "Co-Flat Map"
    traits = Traits(keyed=True, state=True, side_outputs=True, inputs=2)

    def elements(self) -> tuple[Element, Element]:
        """What is called for the records of each input."""
        return flat_map_elements(self.function.target)


class KeyedCoProcessOperator(KeyedProcessOperator):
    """Calls the method of the input for each record, and ``on_timer``, under the key."""

    def __init__(self, spec: KeyedCoProcessSpec) -> None:
        super().__init__(spec)
        self._elements = spec.elements

    def steps(self, outputs: Outputs) -> tuple[Step, ...]:
        """The call of each input's method."""
        first, second = self._elements()
        context = self._context
        return (
            results_step(self.node, first, context, outputs),
            results_step(self.node, second, context, outputs),
        )
