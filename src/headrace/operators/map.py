"""The operator of ``map``."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.runtime.loops import Step
from headrace.runtime.operator import Operator, OperatorSpec
from headrace.runtime.user_function import UserFunction


@dataclass(frozen=True)
class MapSpec(OperatorSpec):
    """``function(value)`` returns the new value."""

    function: UserFunction
    kind = "map"
    label = "Map"

    def build(self) -> Operator:
        return MapOperator(self)


class MapOperator(Operator):
    """Calls the function for each record."""

    def __init__(self, spec: MapSpec) -> None:
        self._spec = spec

    def step(self) -> Step:
        names = {"node": self.node, "function": self._spec.function.as_callable()}
        return Step(("node = $node", "value = $function(value)"), names)
