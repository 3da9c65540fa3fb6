"""Functions of two keyed streams, which share state and timers of equal keys."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.operators.connected.elements import (
    flat_map_elements,
    map_elements,
    process_elements,
)
from headrace.operators.emission import results_step
from headrace.operators.keyed_process import KeyedProcessOperator, KeyedProcessSpec
from headrace.runtime.loops import Step
from headrace.runtime.operator import Operator, Outputs, Traits


@dataclass(frozen=True)
class KeyedCoProcessSpec(KeyedProcessSpec):
    """``function.target`` has ``process_element1``, ``process_element2`` and perhaps ``on_timer``.

    ``elements`` returns the methods for the records of each input.
    """

    elements = staticmethod(process_elements)
    kind = "keyed-co-process"
    label = "Keyed Co-Process"
    fixed_traits = Traits(keyed=True, state=True, side_outputs=True, inputs=2)

    def build(self) -> Operator:
        return KeyedCoProcessOperator(self)


@dataclass(frozen=True)
class KeyedCoMapSpec(KeyedCoProcessSpec):
    """``function.target`` has ``map1(value)`` and ``map2``, and may use keyed state."""

    elements = staticmethod(map_elements)
    kind = "keyed-co-map"
    label = "Co-Map"
    traits = KeyedCoProcessSpec.fixed_traits


@dataclass(frozen=True)
class KeyedCoFlatMapSpec(KeyedCoProcessSpec):
    """``function.target`` has ``flat_map1(value)`` and ``flat_map2``, and may use keyed state."""

    elements = staticmethod(flat_map_elements)
    kind = "keyed-co-flat-map"
    label = "Co-Flat Map"
    traits = KeyedCoProcessSpec.fixed_traits


class KeyedCoProcessOperator(KeyedProcessOperator):
    """Calls the method of the input for each record, and ``on_timer``, under the current key."""

    _spec: KeyedCoProcessSpec

    def steps(self, outputs: Outputs) -> tuple[Step, ...]:
        elements = self._spec.elements(self._spec.function.target)
        return tuple(results_step(self.node, each, self._context, outputs) for each in elements)
