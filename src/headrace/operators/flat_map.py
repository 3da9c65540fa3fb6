"""Any number of records out for each record in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.operators.spec import OperatorSpec, UserFunction
from headrace.runtime.chain import Operator, Outputs
from headrace.runtime.exchange import Push


@dataclass(frozen=True)
class FlatMapSpec(OperatorSpec):
    """``function(value)`` gives an iterable of new values, or None for none."""

    function: UserFunction

    @property
    def label(self) -> str:
        """The operator's default name."""
        return "FlatMap"

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        """The user's function."""
        return (self.function,)

    def build(self) -> Operator:
        """A new operator."""
        return FlatMapOperator(self)


class FlatMapOperator(Operator):
    """Calls the function for each record and emits what it yields, one by one."""

    def __init__(self, spec: FlatMapSpec) -> None:
        self._spec = spec

    def bind(self, outputs: Outputs) -> Push:
        """The function that takes the operator's records."""
        function, down, node = self._spec.function.bound(), outputs.main, self.node

        def push(value: Any, timestamp: int | None, node: Any = node) -> None:
            results = function(value)
            if results is not None:
                for result in results:
                    down(result, timestamp)

        return push
