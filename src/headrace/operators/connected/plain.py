"""Functions of two streams without keys."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.operators.connected.elements import (
    Element,
    flat_map_elements,
    map_elements,
    process_elements,
)
from headrace.operators.process import ProcessContext, ProcessOperator, ProcessSpec
from headrace.runtime.operator import Operator, Traits


@dataclass(frozen=True)
class CoProcessSpec(ProcessSpec):
    """``function.target`` has ``process_element1(value, ctx)`` and ``process_element2``.

    ``elements`` returns the methods for the records of each input.
    """

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


class CoProcessOperator(ProcessOperator):
    """Calls the method of the input for each record."""

    _spec: CoProcessSpec

    def elements(self) -> tuple[Element, ...]:
        return self._spec.elements(self._spec.function.target)

    def contexts(self) -> tuple[ProcessContext, ...]:
        context = ProcessContext(self.key_context)
        return context, context
