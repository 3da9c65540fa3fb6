"""One record out for each record in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.operators.spec import OperatorSpec, UserFunction
from headrace.runtime.chain import Operator, Outputs
from headrace.runtime.exchange import Push


@dataclass(frozen=True)
class MapSpec(OperatorSpec):
    """``function(value)`` gives the new value."""

    function: UserFunction

    @property
    def label(self) -> str:
        """The operator's default name."""
        return "Map"

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        """The user's function."""
        return (self.function,)

    def build(self) -> Operator:
        """A new operator."""
        return MapOperator(self)


class MapOperator(Operator):
    """Calls the function for each record."""

    def __init__(self, spec: MapSpec) -> None:
        self._spec = spec

    def bind(self, outputs: Outputs) -> Push:
        """The function that takes the operator's records."""
        function, down, node = self._spec.function.bound(), outputs.main, self.node

        def push(value: Any, timestamp: int | None, node: Any = node) -> None:
            down(function(value), timestamp)

        return push
