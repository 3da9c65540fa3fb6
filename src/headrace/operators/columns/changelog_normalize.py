"""Rows that replace and delete the row of their key, as a changelog that says what changes.

The last row of each key is kept. The first row of a key is an insert, each later one an update. A
deletion gives the whole row that is deleted. A row equal to the kept one gives nothing. Rows before
updates are ignored: the row after the update replaces the kept one.

With a time-to-live, a row equal to the kept one is given again, as an update, so that operators
downstream keep their state as long. An expired row counts as one that never came.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common._types.data import type_data
from headrace.common.changelog_mode import ChangelogMode
from headrace.operators.columns.calc import BatchContext, BatchFunction
from headrace.operators.columns.gathering import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    last_rows,
    retracted,
)
from headrace.operators.columns.keyed_value import KeyedValueOperator
from headrace.runtime.context import TaskContext
from headrace.runtime.operator import NodeProgram, Operator, OperatorSpec, Traits
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.kinds import RESERVED_NAMES

if TYPE_CHECKING:
    import numpy as np

    from headrace.runtime.columns.batch import Columns

    Array = np.ndarray[Any, Any]

SLOT = RESERVED_NAMES + "row"
"""The state of a key: the values of its last row."""


@dataclass(frozen=True)
class ChangelogNormalizeSpec(OperatorSpec):
    """``keys``: the columns of the key. ``schema``: of the rows.

    ``condition``: a function whose one column says which rows there are; others count as deleted.
    ``updates_before``: whether something after it needs the rows that are replaced. ``folds``:
    whether only the last row of each key in a micro-batch counts. ``ttl_ms``: how long a row is
    kept after its last change; 0: without end.
    """

    keys: tuple[str, ...]
    schema: Any
    condition: BatchFunction | None = None
    updates_before: bool = True
    folds: bool = False
    ttl_ms: int = 0
    traits = Traits(keyed=True, state=True, takes_columns=True, gives_columns=True)
    kind = "changelog-normalize"
    label = "ChangelogNormalize"

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """Return retractions, or upserts."""
        return ChangelogMode.all() if self.updates_before else ChangelogMode.upsert()

    def build(self) -> Operator:
        return ChangelogNormalizeOperator(self)


class ChangelogNormalizeOperator(KeyedValueOperator):
    """Keeps the last row of each key as a list of its values."""

    def __init__(self, spec: ChangelogNormalizeSpec) -> None:
        super().__init__(spec.schema, SLOT, spec.ttl_ms, type_data("PICKLED_BYTE_ARRAY"))
        self._spec = spec
        self._pending: list[tuple[Columns, list[Any]]] = []

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        super().open(node, context, key_context)
        condition = self._spec.condition
        self._holds = None if condition is None else condition.compile()

    def take(self, columns: Columns, codes: Array, distinct: list[Any]) -> None:
        """Give what rows change, or keep the last one of each key for the micro-batch's end."""
        import numpy as np

        if columns.kinds is not None and (columns.kinds == UPDATE_BEFORE).any():
            rows = np.flatnonzero(columns.kinds != UPDATE_BEFORE)
            used, codes = np.unique(codes[rows], return_inverse=True)
            columns, distinct = columns.take(rows), [distinct[each] for each in used]
        if not len(columns):
            return
        if not self._spec.folds:
            self._change(columns, codes, distinct)
            return
        self._pending.append((columns.take(last_rows(codes, len(distinct))), distinct))

    def complete(self) -> None:
        """Give the change of each key that the micro-batch has reached."""
        if not self._pending:
            return
        import numpy as np

        from headrace.runtime.columns.batch import concatenate_columns

        pending, self._pending = self._pending, []
        numbers: dict[Any, int] = {}
        codes = [numbers.setdefault(key, len(numbers)) for _, keys in pending for key in keys]
        rows = concatenate_columns([columns for columns, _ in pending])
        last = last_rows(np.array(codes), len(numbers))
        self._change(rows.take(last), np.arange(len(numbers)), [*numbers])

    def restore(self, state: Any | None) -> None:
        """Clear what a failed task run has left."""
        super().restore(state)
        self._pending = []

    def _change(self, columns: Columns, codes: Array, distinct: list[Any]) -> None:
        import numpy as np
        import pyarrow as pa

        from headrace.runtime.columns.batch import Columns
        from headrace.runtime.columns.shapes import NAMED_ROWS

        count = len(columns)
        states = [self.load(key) for key in distinct]
        there = self._there(columns)
        stored = [state for state in states if state is not None]
        first = np.full(len(distinct), -1)
        has_state = np.array([state is not None for state in states])
        first[has_state] = np.arange(count, count + len(stored))
        previous = _previous_rows(codes, first)
        rows = columns.batch
        if stored:
            rows = _one_batch([rows, _batch_of(stored, rows.schema)])
        was_there = np.concatenate([there, np.ones(len(stored), bool), [False]])[previous]
        kinds = self._kinds(rows, previous, was_there, there)
        chosen = np.flatnonzero(kinds >= 0)
        self._store(distinct, last_rows(codes, len(distinct)), there, columns.batch)
        if len(chosen):
            places = np.stack([previous, np.arange(count)], axis=1).ravel()[chosen]
            times = columns.times
            times = None if times is None else times.take(pa.array(chosen // 2))
            made = rows.take(pa.array(places))
            self.outputs.columns(Columns(made, NAMED_ROWS, times, kinds[chosen]))

    def _there(self, columns: Columns) -> Array:
        """Return which rows are there, and do not delete."""
        import numpy as np

        minus = retracted(columns)
        there = np.ones(len(columns), bool) if minus is None else ~minus
        if self._holds is None:
            return there
        (found,) = self._holds(columns.batch, BatchContext(self.key_context.now_ms))[0].columns
        meets: Array = np.asarray(found.fill_null(False))
        return there & meets

    def _kinds(self, rows: Any, previous: Array, was_there: Array, there: Array) -> Array:
        """Return two kinds for each row: of the one before it, and its own; -1: not given."""
        import numpy as np

        both = np.flatnonzero(was_there & there)
        differs = np.zeros(len(there), bool)
        differs[both] = bool(self._spec.ttl_ms) or _differ(rows, previous[both], both)
        before = UPDATE_BEFORE if self._spec.updates_before else -1
        first = np.where(was_there & ~there, DELETE, np.where(differs, before, -1))
        second = np.where(~was_there & there, INSERT, np.where(differs, UPDATE_AFTER, -1))
        kinds: Array = np.stack([first, second], axis=1).ravel().astype(np.int8)
        return kinds

    def _store(self, distinct: list[Any], last: Array, there: Array, batch: Any) -> None:
        """Keep the last rows of keys."""
        import pyarrow as pa

        values = iter(_values_of(batch.take(pa.array(last[there[last]]))))
        for key, stays in zip(distinct, there[last].tolist(), strict=True):
            self.store(key, next(values) if stays else None)


def _previous_rows(codes: Array, first: Array) -> Array:
    """Return for each row the one before it with its key; for the first ones, by key, ``first``."""
    import numpy as np

    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    begins = np.ones(len(codes), bool)
    begins[1:] = ordered[1:] != ordered[:-1]
    before = np.empty(len(codes), np.int64)
    before[1:] = order[:-1]
    before[begins] = first[ordered[begins]]
    previous = np.empty(len(codes), np.int64)
    previous[order] = before
    return previous


def _differ(rows: Any, one: Array, other: Array) -> Array:
    """Return for pairs of rows whether they differ; NULLs are equal."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    differs = np.zeros(len(one), bool)
    for column in rows.columns:
        left, right = column.take(pa.array(one)), column.take(pa.array(other))
        if pa.types.is_nested(column.type):
            pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
            differs |= np.fromiter((a != b for a, b in pairs), bool, len(one))
        else:
            equal = pc.fill_null(pc.equal(left, right), fill_value=False)
            both_null = pc.and_(left.is_null(), right.is_null())
            differs |= ~np.asarray(pc.or_(equal, both_null))
    return differs


def _values_of(batch: Any) -> list[list[Any]]:
    columns = [column.to_pylist() for column in batch.columns]
    return [[*row] for row in zip(*columns, strict=True)]


def _batch_of(rows: list[list[Any]], schema: Any) -> Any:
    import pyarrow as pa

    columns = zip(*rows, strict=True)
    arrays = [pa.array(each, field.type) for each, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _one_batch(batches: Sequence[Any]) -> Any:
    import pyarrow as pa

    (batch,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return batch
