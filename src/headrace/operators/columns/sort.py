"""ORDER BY in a batch: all rows in an order, or the first of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common._types.data import type_data
from headrace.common.changelog_mode import ChangelogMode, union
from headrace.operators.columns.gathering import KeyedColumnOperator
from headrace.runtime.context import TaskContext
from headrace.runtime.operator import NodeProgram, Operator, OperatorSpec, Traits
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.kinds import RESERVED_NAMES, VALUE

if TYPE_CHECKING:
    import numpy as np

    from headrace.runtime.columns.batch import Columns

SLOT = RESERVED_NAMES + "sorted"

SortKeys = tuple[tuple[str, bool, bool], ...]
"""Columns, each with whether it is ascending, and whether NULLs come first."""


@dataclass(frozen=True)
class SortSpec(OperatorSpec):
    """All rows of a batch, which have one key, in an order; of these ``limit`` after ``offset``."""

    keys: SortKeys
    offset: int
    limit: int | None
    schema: Any
    traits = Traits(keyed=True, state=True, takes_columns=True, gives_columns=True)
    kind = "sort"
    label = "Sort"

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """Return the kinds of the input."""
        return union(inputs)

    def build(self) -> Operator:
        return SortOperator(self)


class SortOperator(KeyedColumnOperator):
    """Keeps the rows, on the heap of a batch, and emits them at the end."""

    def __init__(self, spec: SortSpec) -> None:
        super().__init__(spec.schema)
        self._spec = spec

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        super().open(node, context, key_context)
        assert context.states is not None, "rows to sort have a key"
        context.states.declare(SLOT, VALUE, type_data("PICKLED_BYTE_ARRAY"))

    def take(self, columns: Columns, codes: np.ndarray[Any, Any], distinct: list[Any]) -> None:
        backend = self.key_context.backend
        for key in distinct:
            entry = backend.enter(key)
            entry.setdefault(SLOT, []).append(columns)
            limit = self._spec.limit
            if limit is not None and len(entry[SLOT]) >= _MOST_PARTS:
                first = self._spec.offset + limit
                entry[SLOT] = [sorted_rows(entry[SLOT], self._spec.keys, 0, first)]
            backend.changed(key)

    def finish(self, backend: StateBackend) -> None:
        """Emit the rows in order."""
        spec = self._spec
        for key in [*backend.keys()]:
            parts = backend.enter(key).get(SLOT)
            if parts:
                end = None if spec.limit is None else spec.offset + spec.limit
                self.outputs.columns(sorted_rows(parts, spec.keys, spec.offset, end))


_MOST_PARTS = 16


def sorted_rows(parts: Sequence[Columns], keys: SortKeys, start: int, end: int | None) -> Columns:
    """Return the rows ``start`` to ``end`` of all parts in order; equal rows keep theirs."""
    import numpy as np

    from headrace.runtime.columns.batch import concatenate_columns

    rows = concatenate_columns(parts)
    order = np.arange(len(rows))
    for name, ascending, nulls_first in reversed(keys):
        column = rows.batch.column(rows.batch.schema.get_field_index(name))
        ranks = _ranks(column)
        missing = np.asarray(column.is_null())
        ranks = ranks if ascending else -ranks
        ranks[missing] = -len(ranks) - 1 if nulls_first else len(ranks) + 1
        order = order[np.argsort(ranks[order], kind="stable")]
    return rows.take(order[start:end])


def _ranks(column: Any) -> Any:
    """Return numbers that are in the order of the values."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_nested(column.type):
        values = [*map(_comparable, column.to_pylist())]
        ranks = {value: rank for rank, value in enumerate(sorted({*values}))}
        return np.array([ranks[value] for value in values], np.int64)
    return pc.rank(column, sort_keys="ascending", tiebreaker="dense").to_numpy().astype(np.int64)


def _comparable(value: Any) -> tuple[Any, ...]:
    """Return a sort key that compares values part by part; NULL is least, NaN greatest."""
    if value is None:
        return (0,)
    if isinstance(value, dict):
        return (1, tuple(map(_comparable, value.values())))
    if isinstance(value, list):
        return (1, tuple(map(_comparable, value)))
    return (2,) if value != value else (1, value)
