"""The operator of ``filter``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.common.changelog_mode import ChangelogMode, union
from headrace.runtime.loops import Step
from headrace.runtime.operator import Operator, OperatorSpec
from headrace.runtime.user_function import UserFunction


@dataclass(frozen=True)
class FilterSpec(OperatorSpec):
    """``function(value)`` returns True for records to keep."""

    function: UserFunction
    kind = "filter"
    label = "Filter"

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """Return the kinds of the input."""
        return union(inputs)

    def build(self) -> Operator:
        return FilterOperator(self)


class FilterOperator(Operator):
    """Passes on the records for which the function returns True."""

    def __init__(self, spec: FilterSpec) -> None:
        self._spec = spec

    def step(self) -> Step:
        """Return a step that calls the function with the record itself, not with a copy."""
        names = {"node": self.node, "function": self._spec.function.as_callable()}
        return Step(("node = $node", "if $function(value):"), names)
