"""Any number of records out for each record in."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.operators.emission import EXPECTED_RESULT_TYPES, always_yields, check_results
from headrace.runtime.loops import Step
from headrace.runtime.operator import Operator, OperatorSpec
from headrace.runtime.user_function import UserFunction


@dataclass(frozen=True)
class FlatMapSpec(OperatorSpec):
    """``function(value)`` gives an iterable of new values, or None for none."""

    function: UserFunction
    kind = "flat-map"
    label = "FlatMap"

    def build(self) -> Operator:
        return FlatMapOperator(self)


class FlatMapOperator(Operator):
    """Calls the function for each record and emits what it yields, one by one."""

    def __init__(self, spec: FlatMapSpec) -> None:
        self._spec = spec

    def step(self) -> Step:
        """The call, and a loop over its result, which may be a generator that is still running."""
        function = self._spec.function.bound()
        # Most functions return a list: it is asked for first, as that is faster.
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
