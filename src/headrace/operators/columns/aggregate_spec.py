"""What the specs of operators with aggregates share."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Self

from headrace.operators.columns.accumulator import Aggregated
from headrace.runtime.operator import OperatorSpec
from headrace.runtime.user_function import UserFunction, copy_function_object


class AggregatesSpec(OperatorSpec):
    """A spec whose aggregates may be functions of users, of which each task has its own."""

    aggregates: tuple[Aggregated, ...]

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        accumulators = (each.accumulator for each in self.aggregates)
        return tuple(UserFunction(each, "add") for each in accumulators if hasattr(each, "open"))

    def copied(self) -> Self:
        made = copy.copy(self)
        vars(made)["aggregates"] = tuple(
            replace(each, accumulator=copy_function_object(each.accumulator))
            if hasattr(each.accumulator, "open")
            else each
            for each in self.aggregates
        )
        return made
