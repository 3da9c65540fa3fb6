"""INTERSECT and EXCEPT: how often each row is given, by how often two inputs have it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from headrace.common._types.data import type_data
from headrace.common.changelog_mode import ChangelogMode
from headrace.common.types import RowKind
from headrace.operators.columns.expiring_counts import (
    CountsOfAll,
    CountsOfDistinct,
    ExpiringCounts,
)
from headrace.operators.columns.gathering import DELETE, INSERT, retracted
from headrace.operators.columns.keyed_value import KeyedValueOperator
from headrace.runtime.operator import Emits, Operator, OperatorSpec, Traits
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.kinds import RESERVED_NAMES

if TYPE_CHECKING:
    import numpy as np

    from headrace.runtime.columns.batch import Columns

SLOT = RESERVED_NAMES + "sides"
"""The state of a row: how often the left input has it, and how often the right one."""

SetKind = Literal["INTERSECT", "EXCEPT"]

Given = tuple[int, bool, int]
"""The number of a row's key, whether it is of the left input, and 1 or -1: added or taken back."""

INSERTS_AND_DELETES = ChangelogMode(frozenset({RowKind.INSERT, RowKind.DELETE}))


def copies(kind: SetKind, counted: bool, left: int, right: int) -> int:
    """Return how many copies of a row the result has, from the numbers in both inputs.

    ``counted``: ALL; otherwise a row is given once.
    """
    if kind == "INTERSECT":
        found = max(min(left, right), 0)  # with a time-to-live, a number may be negative
    elif counted:
        found = max(left - right, 0)
    else:
        found = 0 if right else left
    return found if counted else min(found, 1)


def changes_of(
    kind: SetKind, inputs: Sequence[ChangelogMode | None], expires: bool
) -> ChangelogMode | None:
    """Return the row kinds that a set operation gives in a stream, from those of its inputs.

    ``expires``: its state has a time-to-live, so rows that stay are given again.
    """
    only_inserts = all(mode == ChangelogMode.insert_only() for mode in inputs)
    if kind == "INTERSECT" and only_inserts and not expires:
        return ChangelogMode.insert_only()
    return INSERTS_AND_DELETES


@dataclass(frozen=True)
class SetOperationSpec(OperatorSpec):
    """The rows of both inputs, keyed by all their columns; ``side`` is true for the left one.

    ``counted``: ALL. ``result``: the Arrow schema without the side. ``ttl_ms``: how long state is
    kept after its last change; 0: without end. ``only_inserts``: no row of the result is deleted.
    """

    operation: SetKind
    counted: bool
    side: str
    schema: Any
    result: Any
    emits: Emits = "each"
    ttl_ms: int = 0
    only_inserts: bool = False
    traits = Traits(keyed=True, state=True, takes_columns=True, gives_columns=True)
    kind = "set-operation"
    label = "SetOperation"

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """Return inserts and deletes; inserts in a batch."""
        if self.emits == "last" or self.only_inserts:
            return ChangelogMode.insert_only()
        return INSERTS_AND_DELETES

    def copies(self, left: int, right: int) -> int:
        """Return how many copies of a row the result has, from the numbers in both inputs."""
        return copies(self.operation, self.counted, left, right)

    def build(self) -> Operator:
        return SetOperationOperator(self)


class SetOperationOperator(KeyedValueOperator):
    """Counts each row in both inputs."""

    def __init__(self, spec: SetOperationSpec) -> None:
        ttl_ms = 0 if spec.emits == "last" else spec.ttl_ms  # the state ends with the batch
        super().__init__(spec.schema, SLOT, ttl_ms, type_data("PICKLED_BYTE_ARRAY"))
        self._spec = spec

    def take(self, columns: Columns, codes: np.ndarray[Any, Any], distinct: list[Any]) -> None:
        batch, minus = columns.batch, retracted(columns)
        lefts = batch.column(batch.schema.get_field_index(self._spec.side)).to_pylist()
        signs = [1] * len(columns) if minus is None else [-1 if each else 1 for each in minus]
        count = self._count if self._ttl is None else self._count_expiring
        rows, kinds = count(distinct, [*zip(codes.tolist(), lefts, signs, strict=True)])
        if rows and self._spec.emits == "each":
            self._emit(batch.select(self._spec.result.names), rows, kinds)

    def _count(self, distinct: list[Any], given: list[Given]) -> tuple[list[int], list[int]]:
        """Return the rows that the result gets or loses, with their kinds."""
        copies = self._spec.copies
        counts = [[*(self.load(key) or (0, 0))[:2]] for key in distinct]
        rows, kinds = list[int](), list[int]()
        for row, (code, left, sign) in enumerate(given):
            count = counts[code]
            before = copies(*count)
            side = 0 if left else 1
            count[side] = max(count[side] + sign, 0)  # what was never added is not taken back
            change = copies(*count) - before
            rows += [row] * abs(change)
            kinds += [INSERT if change > 0 else DELETE] * abs(change)
        for key, count in zip(distinct, counts, strict=True):
            self.store(key, tuple(count) if any(count) else None)
        return rows, kinds

    def _count_expiring(
        self, distinct: list[Any], given: list[Given]
    ) -> tuple[list[int], list[int]]:
        counts = [self._expiring_counts(key) for key in distinct]
        rows, kinds = list[int](), list[int]()
        for row, (code, left, sign) in enumerate(given):
            changes = counts[code].take(left, sign)
            rows += [row] * len(changes)
            kinds += [INSERT if change > 0 else DELETE for change in changes]
        for key, count in zip(distinct, counts, strict=True):
            if count.changed:
                self.store(key, count.value())
        return rows, kinds

    def _expiring_counts(self, key: Any) -> ExpiringCounts:
        spec = self._spec
        if spec.counted:
            return CountsOfAll(self.load(key), spec.copies)
        now_ms, intersects = self.key_context.now_ms, spec.operation == "INTERSECT"
        return CountsOfDistinct(self.load_with_time(key), intersects, now_ms, spec.ttl_ms)

    def _emit(self, batch: Any, rows: Sequence[int], kinds: Sequence[int] | None) -> None:
        import numpy as np
        import pyarrow as pa

        from headrace.runtime.columns.batch import Columns
        from headrace.runtime.columns.shapes import NAMED_ROWS

        taken = batch.take(pa.array(rows, pa.int64()))
        found = None if kinds is None else np.array(kinds, np.int8)
        self.outputs.columns(Columns(taken, NAMED_ROWS, None, found))

    def finish(self, backend: StateBackend) -> None:
        """Give the rows, at the end of a batch."""
        if self._spec.emits != "last":
            return
        import pyarrow as pa

        schema = self._spec.result
        keys = [key for key in [*backend.keys()] if SLOT in backend.enter(key)]
        if not keys:
            return
        copies = [self._spec.copies(*backend.enter(key)[SLOT]) for key in keys]
        values = [(key,) for key in keys] if len(schema) == 1 else keys
        arrays = [
            pa.array(each, field.type)
            for each, field in zip(zip(*values, strict=True), schema, strict=True)
        ]
        batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
        rows = [row for row, count in enumerate(copies) for _ in range(count)]
        self._emit(batch, rows, None)
