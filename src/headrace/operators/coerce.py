"""Records made to fit the type declared for their stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.common.typeinfo import TypeInformation
from headrace.operators.spec import OperatorSpec
from headrace.runtime.chain import Operator, Outputs
from headrace.runtime.exchange import Push


@dataclass(frozen=True)
class CoerceSpec(OperatorSpec):
    """Values become what ``type_info`` says, or a ``TypeMismatchError`` is raised."""

    type_info: TypeInformation

    @property
    def label(self) -> str:
        """The operator's default name."""
        return "Typed"

    def build(self) -> Operator:
        """A new operator."""
        return CoerceOperator(self)


class CoerceOperator(Operator):
    """Applies the type's coercion to each record."""

    def __init__(self, spec: CoerceSpec) -> None:
        self._spec = spec

    def bind(self, outputs: Outputs) -> Push:
        """The function that takes the operator's records."""
        coerce, down, node = self._spec.type_info.coercer(), outputs.main, self.node
        if coerce is None:
            return down
        fit = coerce

        def push(value: Any, timestamp: int | None, node: Any = node) -> None:
            down(fit(value), timestamp)

        return push
