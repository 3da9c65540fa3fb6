"""An operator without keys that has two inputs: a function for each.

``headrace.operators.connected`` has those of the API, whose functions have a method for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.runtime.loops import Push
from headrace.runtime.operator import Operator, OperatorSpec, Outputs, Traits
from headrace.runtime.user_function import UserFunction


@dataclass(frozen=True)
class CoMapSpec(OperatorSpec):
    """``first`` and ``second`` give the new value of each input's records.

    They are called with the value, how many records of both inputs the instance saw before, and the
    watermarks of the inputs.
    """

    first: UserFunction
    second: UserFunction
    traits = Traits(inputs=2)
    kind = "co-map"
    label = "CoMap"

    def build(self) -> Operator:
        """A new operator."""
        return CoMapOperator(self)


class CoMapOperator(Operator):
    """Calls the function of the input."""

    def __init__(self, spec: CoMapSpec) -> None:
        self._spec = spec
        self._seen = 0

    def bind_inputs(self, outputs: Outputs) -> tuple[Push, ...]:
        """A push per input."""
        functions = self._spec.functions
        return tuple(self._push(each.as_callable(), outputs.main) for each in functions)

    def _push(self, function: Any, down: Push) -> Push:
        node = self.node

        def push(value: Any, timestamp: int | None, node: Any = node) -> None:
            times = self.input_watermark(0), self.input_watermark(1)
            result = function(value, self._seen, times)
            self._seen += 1
            down(result, timestamp)

        return push
