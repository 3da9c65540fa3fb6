"""GROUP BY of aggregates that are computed row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from headrace.operators.columns.accumulator import Accumulator, Aggregated
from headrace.operators.columns.changes import Changes, GroupShape
from headrace.operators.columns.gathering import first_rows, retracted
from headrace.operators.columns.keyed_value import KeyedValueOperator
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.kinds import RESERVED_NAMES

if TYPE_CHECKING:
    import numpy as np

    from headrace.runtime.columns.batch import Columns

SLOT = RESERVED_NAMES + "aggregates"
"""The state of a key: the number of its rows, and the state of each accumulator."""

States = list[list[Any] | None]
"""For each of some keys the number of its rows and the states of its accumulators."""


class RowAggregates:
    """Adds rows to states, or retracts them, one by one."""

    def __init__(self, shape: GroupShape) -> None:
        self._shape = shape
        self._accumulators = [each.accumulator for each in shape.aggregates]

    def results(self, state: Sequence[Any]) -> list[Any]:
        """Return the results of a state."""
        return [each.result(part) for each, part in zip(self._accumulators, state[1:], strict=True)]

    def compared(self, state: Sequence[Any]) -> list[Any]:
        """Return the results and watched values of a state: if one differs, it is an update."""
        parts = [*zip(self._accumulators, state[1:], strict=True)]
        return [*self.results(state), *(each.watched(part) for each, part in parts)]

    def take(
        self,
        batch: Any,
        codes: np.ndarray[Any, Any],
        minus: np.ndarray[Any, Any] | None,
        states: States,
        changes: Changes | None,
    ) -> None:
        """Change the states of keys by rows; ``changes`` gets what that changes in the results."""
        rows = argument_rows(batch, self._shape.aggregates)
        for row, code in enumerate(codes.tolist()):
            retracts = minus is not None and bool(minus[row])
            state = states[code]
            if state is None:
                if retracts:
                    continue  # what was never added; Flink ignores it, too
                state = states[code] = [0, *(each.zero() for each in self._accumulators)]
                before = None
            else:
                before = self.compared(state) if changes is not None else None
            state[0] += -1 if retracts else 1
            change_states(state, self._accumulators, rows(row), retracts)
            gone = state[0] <= 0
            if changes is not None:
                changes.add(row, before, None if gone else self.compared(state))
            if gone:
                states[code] = None


class RowGroupOperator(KeyedValueOperator):
    """Keeps the accumulators of each key as one value."""

    def __init__(self, shape: GroupShape) -> None:
        super().__init__(shape.schema, SLOT, shape.ttl_ms)
        self._shape = shape
        self._rows = RowAggregates(shape)
        self._folds = shape.folds and shape.emits == "each"
        self._before: dict[Any, list[Any] | None]
        """The results of keys before the micro-batch, of those that it has reached."""
        self._key_rows: list[Any]
        """The key columns of these keys, in the same order."""
        self._forget()

    def take(self, columns: Columns, codes: np.ndarray[Any, Any], distinct: list[Any]) -> None:
        """Add and retract rows."""
        if not len(columns):
            return
        shape, batch = self._shape, columns.batch
        states: States = [self.load(key) for key in distinct]
        if self._folds:
            self._remember(batch, codes, distinct, states)
        gives_each = shape.emits == "each" and not self._folds
        changes = Changes(shape.updates_before, bool(shape.ttl_ms)) if gives_each else None
        self._rows.take(batch, codes, retracted(columns), states, changes)
        for key, state in zip(distinct, states, strict=True):
            self.store(key, state)  # a key without rows has none
        if changes is not None and changes.rows:
            self.outputs.columns(changes.columns(batch, shape))

    def _remember(
        self, batch: Any, codes: np.ndarray[Any, Any], distinct: list[Any], states: States
    ) -> None:
        """Keep the results of keys that the micro-batch reaches for the first time."""
        import pyarrow as pa

        added = [place for place, key in enumerate(distinct) if key not in self._before]
        if not added:
            return
        for place in added:
            state = states[place]
            self._before[distinct[place]] = None if state is None else self._rows.compared(state)
        first = first_rows(codes, len(distinct))
        rows = batch.select([*self._shape.keys]).take(pa.array(first[added]))
        self._key_rows.append(rows)

    def complete(self) -> None:
        """Give the change of each key that the micro-batch has reached."""
        import pyarrow as pa

        if not self._before:
            return
        changes = Changes(self._shape.updates_before, self._ttl is not None)
        for number, (key, before) in enumerate(self._before.items()):
            state = self.load(key)
            changes.add(number, before, None if state is None else self._rows.compared(state))
        keys = pa.Table.from_batches(self._key_rows).combine_chunks().to_batches()[0]
        self._forget()
        if changes.rows:
            self.outputs.columns(changes.columns(keys, self._shape))

    def restore(self, state: Any | None) -> None:
        """Clear what a failed task run has left."""
        super().restore(state)
        self._forget()

    def _forget(self) -> None:
        self._before, self._key_rows = {}, []

    def finish(self, backend: StateBackend) -> None:
        """Emit the results of each key, at the end of a batch."""
        if self._shape.emits != "last":
            return
        found = [(key, self.load(key)) for key in [*backend.keys()]]
        states = [(key, state) for key, state in found if state is not None]
        if not states:
            return
        import pyarrow as pa

        keys = [key for key, _ in states]
        results = zip(*(self._rows.results(state) for _, state in states), strict=True)
        fields = [*self._shape.result][len(self._shape.keys) :]
        arrays = [pa.array(each, field.type) for each, field in zip(results, fields, strict=True)]
        self.outputs.columns(rows_of_keys(self._shape, keys, arrays))


def rows_of_keys(shape: GroupShape, keys: Sequence[Any], results: Sequence[Any]) -> Columns:
    """Return rows of keys, as states have them, and results, as Arrow arrays."""
    import pyarrow as pa

    from headrace.runtime.columns.batch import Columns
    from headrace.runtime.columns.shapes import NAMED_ROWS

    parts = [keys] if len(shape.keys) == 1 else zip(*keys, strict=True)
    fields = [*shape.result][: len(shape.keys)]
    arrays = [pa.array(each, field.type) for each, field in zip(parts, fields, strict=True)]
    made = pa.RecordBatch.from_arrays([*arrays, *results], schema=shape.result)
    return Columns(made, NAMED_ROWS)


def change_states(
    state: list[Any],
    accumulators: Sequence[Accumulator],
    row: Sequence[tuple[Any, ...] | None],
    retracts: bool = False,
) -> None:
    """Add a row to the states of accumulators, or retract it. They follow the first item of
    ``state``. ``row``: of ``argument_rows``."""
    for number, values in enumerate(row, 1):
        if values is not None:
            each = accumulators[number - 1]
            state[number] = (each.retract if retracts else each.add)(state[number], values)


def argument_rows(
    batch: Any, aggregates: Sequence[Aggregated]
) -> Callable[[int], list[tuple[Any, ...] | None]]:
    """Return a function that gives a row's values for each aggregate; None: it is filtered out."""
    names = {name for each in aggregates for name in (*each.arguments, each.filter) if name}
    lists = {name: batch.column(name).to_pylist() for name in names}
    parts = [
        ([lists[name] for name in each.arguments], lists[each.filter] if each.filter else None)
        for each in aggregates
    ]

    def values_of(row: int) -> list[tuple[Any, ...] | None]:
        return [
            tuple([each[row] for each in arguments]) if kept is None or kept[row] else None
            for arguments, kept in parts
        ]

    return values_of
