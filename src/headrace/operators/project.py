"""Some fields of each record."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.runtime.loops import Step
from headrace.runtime.operator import Operator, OperatorSpec


@dataclass(frozen=True)
class ProjectSpec(OperatorSpec):
    """The fields at ``indexes``, in that order, as a tuple."""

    indexes: tuple[int, ...]
    kind = "project"
    label = "Projection"

    def build(self) -> Operator:
        return ProjectOperator(self)


class ProjectOperator(Operator):
    """Picks fields by position."""

    def __init__(self, spec: ProjectSpec) -> None:
        self._spec = spec

    def step(self) -> Step:
        fields = ", ".join(f"value[{int(index)}]" for index in self._spec.indexes)
        return Step(("node = $node", f"value = ({fields},)"), {"node": self.node})
