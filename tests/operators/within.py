"""The worked example of an operator without state: records within bounds go on."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.runtime.loops import Step
from headrace.runtime.operator import Operator, OperatorSpec
from headrace.runtime.user_function import UserFunction


@dataclass(frozen=True)
class WithinSpec(OperatorSpec):
    """Keeps the records of which ``number(value)`` is from ``low`` to ``high``."""

    number: UserFunction
    low: float
    high: float
    kind = "within"
    label = "Within"

    def build(self) -> Operator:
        """A new operator."""
        return WithinOperator(self)


class WithinOperator(Operator):
    """One comparison in the loop that its chain is compiled to."""

    def __init__(self, spec: WithinSpec) -> None:
        self._spec = spec

    def step(self) -> Step:
        """The comparison; what follows stands inside of the ``if``."""
        spec = self._spec
        names = {
            "node": self.node,
            "number": spec.number.as_callable(),
            "low": spec.low,
            "high": spec.high,
        }
        lines = ("node = $node", "if $low <= $number(value) <= $high:")
        return Step(lines, names, forwards_record=True)
