"""LIMIT without an order: the first rows that come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common._types.data import type_data
from headrace.common.changelog_mode import ChangelogMode, union
from headrace.operators.columns.keyed_value import KeyedValueOperator
from headrace.runtime.operator import Operator, OperatorSpec, Traits
from headrace.runtime.state.kinds import RESERVED_NAMES

if TYPE_CHECKING:
    import numpy as np

    from headrace.runtime.columns.batch import Columns

SLOT = RESERVED_NAMES + "sorted"
"""The state of a key: the number of its rows so far."""


@dataclass(frozen=True)
class LimitSpec(OperatorSpec):
    """The first ``limit`` rows after ``offset`` that come, of rows with one key.

    ``ttl_ms``: how long after the last row that was counted counting begins anew; 0: never.
    """

    offset: int
    limit: int
    schema: Any
    ttl_ms: int = 0
    traits = Traits(keyed=True, state=True, takes_columns=True, gives_columns=True)
    kind = "limit"
    label = "Limit"

    def accepts(self, input: int) -> ChangelogMode | None:
        """Return inserts: a retracted row would make room for another."""
        return ChangelogMode.insert_only()

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """Return the kinds of the input."""
        return union(inputs)

    def build(self) -> Operator:
        return LimitOperator(self)


class LimitOperator(KeyedValueOperator):
    """Counts the rows that have come."""

    def __init__(self, spec: LimitSpec) -> None:
        super().__init__(spec.schema, SLOT, spec.ttl_ms, type_data("LONG"))
        self._spec = spec

    def take(self, columns: Columns, codes: np.ndarray[Any, Any], distinct: list[Any]) -> None:
        end = self._spec.offset + self._spec.limit
        for key in distinct:  # there is one
            seen = self.load(key) or 0
            if seen >= end:
                return
            self.store(key, min(seen + len(columns), end))
            first = max(self._spec.offset - seen, 0)
            if first < end - seen:
                self.outputs.columns(columns[first : end - seen])
