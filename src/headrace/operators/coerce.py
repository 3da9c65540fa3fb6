"""Coercion of records to the declared type of their stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.common.changelog_mode import ChangelogMode, union
from headrace.common.typeinfo import TypeInformation
from headrace.runtime.loops import Step
from headrace.runtime.operator import Operator, OperatorSpec


@dataclass(frozen=True)
class CoerceSpec(OperatorSpec):
    """Coerces values to ``type_info``.

    Raises:
        TypeMismatchError: for a value that does not fit.
    """

    type_info: TypeInformation
    kind = "typed"
    label = "Typed"

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """Return the kinds of the input."""
        return union(inputs)

    def build(self) -> Operator:
        return CoerceOperator(self)


class CoerceOperator(Operator):
    """Applies the type's coercion to each record."""

    def __init__(self, spec: CoerceSpec) -> None:
        self._spec = spec

    def step(self) -> Step:
        fit = self._spec.type_info.coercer()
        if fit is None:
            return Step(("pass",), forwards_record=True)
        return Step(("node = $node", "value = $fit(value)"), {"node": self.node, "fit": fit})
