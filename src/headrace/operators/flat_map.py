"""The operator of ``flat_map``."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.operators.emission import EXPECTED_RESULT_TYPES, always_yields, check_results
from headrace.runtime.loops import Step
from headrace.runtime.operator import Operator, OperatorSpec
from headrace.runtime.user_function import UserFunction


@dataclass(frozen=True)
class FlatMapSpec(OperatorSpec):
    """``function(value)`` returns an iterable of new values, or None."""

    function: UserFunction
    kind = "flat-map"
    label = "FlatMap"

    def build(self) -> Operator:
        return FlatMapOperator(self)


class FlatMapOperator(Operator):
    """Calls the function for each record and emits its results one by one."""

    def __init__(self, spec: FlatMapSpec) -> None:
        self._spec = spec

    def step(self) -> Step:
        """Return a step that emits each result; a generator runs while results are emitted."""
        function = self._spec.function.as_callable()
        # Most functions return a list, so it is checked first.
        check = (
            "if type($results) is not $list and type($results) not in $expected: $check($results)"
        )
        names = {
            "node": self.node,
            "function": function,
            "list": list,
            "expected": EXPECTED_RESULT_TYPES,
            "check": check_results,
        }
        return Step(
            (
                "node = $node",
                "$record, $stamp = value, timestamp",
                "$results = $function(value)",
                *(() if always_yields(function) else (check,)),
                "if $results is not None:",
                "    for value in $results:",
            ),
            names,
            cleanup=("node, value, timestamp = $node, $record, $stamp",),
        )
