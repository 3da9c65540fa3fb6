"""The records that pass a test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.operators.spec import OperatorSpec, UserFunction
from headrace.runtime.chain import Operator, Outputs
from headrace.runtime.exchange import Push


@dataclass(frozen=True)
class FilterSpec(OperatorSpec):
    """``function(value)`` is true for the records to keep."""

    function: UserFunction

    @property
    def label(self) -> str:
        """The operator's default name."""
        return "Filter"

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        """The user's function."""
        return (self.function,)

    def build(self) -> Operator:
        """A new operator."""
        return FilterOperator(self)


class FilterOperator(Operator):
    """Passes on the records for which the function is true."""

    def __init__(self, spec: FilterSpec) -> None:
        self._spec = spec

    def bind(self, outputs: Outputs) -> Push:
        """The function that takes the operator's records."""
        function, down, node = self._spec.function.bound(), outputs.main, self.node

        def push(value: Any, timestamp: int | None, node: Any = node) -> None:
            if function(value):
                down(value, timestamp)

        return push
