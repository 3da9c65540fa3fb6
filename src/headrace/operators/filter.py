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
        """The kinds of the input."""
        return union(inputs)

    def build(self) -> Operator:
        return FilterOperator(self)


class FilterOperator(Operator):
    """Passes on the records for which the function returns True."""

    def __init__(self, spec: FilterSpec) -> None:
        self._spec = spec

    def step(self) -> Step:
        """The function is called with the record itself: it may keep it and change it later."""
        names = {"node": self.node, "function": self._spec.function.bound()}
        return Step(("node = $node", "if $function(value):"), names)
