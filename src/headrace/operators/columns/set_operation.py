"""INTERSECT and EXCEPT: how often each row is given, by how often two inputs have it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from headrace.common._types.data import type_data
from headrace.common.changelog_mode import ChangelogMode
from headrace.common.types import RowKind
from headrace.operators.columns.gathering import (
    DELETE,
    INSERT,
    KeyedColumnOperator,
    retracted,
)
from headrace.runtime.context import TaskContext
from headrace.runtime.operator import Emits, NodeProgram, Operator, OperatorSpec, Traits
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.kinds import RESERVED_NAMES, VALUE

if TYPE_CHECKING:
    import numpy as np

    from headrace.runtime.columns.batch import Columns

SLOT = RESERVED_NAMES + "sides"
"""The state of a row: how often the left input has it, and how often the right one."""

SetKind = Literal["INTERSECT", "EXCEPT"]

INSERTS_AND_DELETES = ChangelogMode(frozenset({RowKind.INSERT, RowKind.DELETE}))


def copies(kind: SetKind, counted: bool, left: int, right: int) -> int:
    """Return how many copies of a row the result has, from the numbers in both inputs.

    ``counted``: ALL; otherwise a row is given once.
    """
    if kind == "INTERSECT":
        found = min(left, right)
    elif counted:
        found = max(left - right, 0)
    else:
        found = 0 if right else left
    return found if counted else min(found, 1)


def changes_of(kind: SetKind, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
    """Return the row kinds that a set operation gives in a stream, from those of its inputs."""
    only_inserts = all(mode == ChangelogMode.insert_only() for mode in inputs)
    if kind == "INTERSECT" and only_inserts:
        return ChangelogMode.insert_only()
    return INSERTS_AND_DELETES


@dataclass(frozen=True)
class SetOperationSpec(OperatorSpec):
    """The rows of both inputs, keyed by all their columns; ``side`` is true for the left one.

    ``counted``: ALL. ``result``: the Arrow schema without the side.
    """

    operation: SetKind
    counted: bool
    side: str
    schema: Any
    result: Any
    emits: Emits = "each"
    traits = Traits(keyed=True, state=True, takes_columns=True, gives_columns=True)
    kind = "set-operation"
    label = "SetOperation"

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """Return inserts and deletes; inserts in a batch."""
        if self.emits == "last":
            return ChangelogMode.insert_only()
        return changes_of(self.operation, inputs)

    def copies(self, left: int, right: int) -> int:
        """Return how many copies of a row the result has, from the numbers in both inputs."""
        return copies(self.operation, self.counted, left, right)

    def build(self) -> Operator:
        return SetOperationOperator(self)


class SetOperationOperator(KeyedColumnOperator):
    """Counts each row in both inputs."""

    def __init__(self, spec: SetOperationSpec) -> None:
        super().__init__(spec.schema)
        self._spec = spec

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        super().open(node, context, key_context)
        assert context.states is not None, "the rows are keyed"
        context.states.declare(SLOT, VALUE, type_data("PICKLED_BYTE_ARRAY"))

    def take(self, columns: Columns, codes: np.ndarray[Any, Any], distinct: list[Any]) -> None:
        batch, minus = columns.batch, retracted(columns)
        lefts = batch.column(batch.schema.get_field_index(self._spec.side)).to_pylist()
        backend, copies = self.key_context.backend, self._spec.copies
        counts = [[*backend.enter(key).get(SLOT, (0, 0))] for key in distinct]
        rows, kinds = list[int](), list[int]()
        for row, (code, left) in enumerate(zip(codes.tolist(), lefts, strict=True)):
            count = counts[code]
            before = copies(*count)
            side = 0 if left else 1
            change = -1 if minus is not None and minus[row] else 1
            count[side] = max(count[side] + change, 0)  # what was never added is not taken back
            change = copies(*count) - before
            rows += [row] * abs(change)
            kinds += [INSERT if change > 0 else DELETE] * abs(change)
        for key, count in zip(distinct, counts, strict=True):
            entry = backend.enter(key)
            if any(count):
                entry[SLOT] = tuple(count)
            else:
                entry.pop(SLOT, None)
            backend.changed(key)
        if rows and self._spec.emits == "each":
            self._emit(batch.select(self._spec.result.names), rows, kinds)

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
