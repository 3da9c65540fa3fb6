"""Some fields of each record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.operators.spec import OperatorSpec
from headrace.runtime.chain import Operator, Outputs
from headrace.runtime.exchange import Push


@dataclass(frozen=True)
class ProjectSpec(OperatorSpec):
    """The fields at ``indexes``, in that order, as a tuple."""

    indexes: tuple[int, ...]

    @property
    def label(self) -> str:
        """The operator's default name."""
        return "Projection"

    def build(self) -> Operator:
        """A new operator."""
        return ProjectOperator(self)


class ProjectOperator(Operator):
    """Picks fields by position."""

    def __init__(self, spec: ProjectSpec) -> None:
        self._spec = spec

    def bind(self, outputs: Outputs) -> Push:
        """The function that takes the operator's records."""
        indexes, down, node = self._spec.indexes, outputs.main, self.node

        def push(value: Any, timestamp: int | None, node: Any = node) -> None:
            down(tuple([value[index] for index in indexes]), timestamp)

        return push
