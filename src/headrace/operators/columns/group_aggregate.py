"""GROUP BY: a row of results for each key, which changes with each row of the input.

The changes are Flink's with mini-batches off: the first row of a key inserts the results; each
later one retracts them and gives new ones, if they differ; with the last row they are deleted.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from headrace.common._types.data import type_data
from headrace.common.changelog_mode import ChangelogMode
from headrace.operators.columns.accumulator import Aggregated, functions_of, with_own_functions
from headrace.operators.columns.changes import Changes, changed_rows
from headrace.operators.columns.folding import FoldedKeys
from headrace.operators.columns.gathering import (
    KeyedColumnOperator,
    first_rows,
    last_rows,
    retracted,
)
from headrace.operators.columns.local_aggregate import LocalAggregateSpec
from headrace.operators.columns.vectors import VectorAggregates
from headrace.runtime.context import TaskContext
from headrace.runtime.operator import (
    Combiner,
    Emits,
    NodeProgram,
    Operator,
    OperatorSpec,
    Traits,
)
from headrace.runtime.state.backend import StateBackend, Timer
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.kinds import RESERVED_NAMES, VALUE
from headrace.runtime.user_function import UserFunction

if TYPE_CHECKING:
    import numpy as np

    from headrace.runtime.columns.batch import Columns

SLOT = RESERVED_NAMES + "aggregates"
"""The state of a key: the number of its rows, and the state of each accumulator."""


@dataclass(frozen=True)
class GroupAggregateSpec(OperatorSpec):
    """``keys``: columns of the input. ``schema``: of the input; ``result``: of keys and results.

    ``retracts``: whether rows of the input may be taken back. ``updates_before``: whether something
    after it needs the rows that are replaced. ``folds``: whether only the last change of each key
    in a micro-batch is given. ``gets_partials``: senders put rows together.
    """

    keys: tuple[str, ...]
    aggregates: tuple[Aggregated, ...]
    schema: Any
    result: Any
    retracts: bool = False
    updates_before: bool = True
    folds: bool = False
    gets_partials: bool = False
    emits: Emits = "each"
    traits = Traits(keyed=True, state=True, takes_columns=True, gives_columns=True)
    kind = "group-aggregate"
    label = "GroupAggregate"

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """Return retractions, or upserts; inserts in a batch."""
        if self.emits == "last":
            return ChangelogMode.insert_only()
        return ChangelogMode.all() if self.updates_before else ChangelogMode.upsert()

    def combiner(self, selector: UserFunction, key_type: Any, by_time: bool) -> Combiner | None:
        """Return the first of two phases, where not every change is given."""
        if not self.folds and self.emits == "each":
            return None
        if VectorAggregates.of(self.aggregates, self.schema, self.retracts) is None:
            return None
        local = LocalAggregateSpec(self.keys, self.aggregates, self.schema, self.retracts)
        return Combiner(local, replace(self, gets_partials=True), sends_partials=False)

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        return functions_of(self.aggregates)

    def copied(self) -> Self:
        made = copy.copy(self)
        vars(made)["aggregates"] = with_own_functions(self.aggregates)
        return made

    def build(self) -> Operator:
        return GroupAggregateOperator(self)


class GroupAggregateOperator(KeyedColumnOperator):
    """Keeps the accumulators of each key as one value."""

    def __init__(self, spec: GroupAggregateSpec) -> None:
        vectors = VectorAggregates.of(spec.aggregates, spec.schema, spec.retracts)
        schema = spec.schema
        if spec.gets_partials:
            assert vectors is not None, "there are partial results of such aggregates only"
            schema = vectors.partial_schema(spec.schema, spec.keys)
        super().__init__(schema)
        self._spec = spec
        self._accumulators = [each.accumulator for each in spec.aggregates]
        self._vectors = vectors
        self._folds = spec.folds and spec.emits == "each"
        self._gives_each = spec.emits == "each" and not spec.folds
        self._before: dict[Any, list[Any] | None]
        """The results of keys before the micro-batch, of those that it has reached."""
        self._key_rows: list[Any]
        """The key columns of these keys, in the same order."""
        self._folded: FoldedKeys | None
        """The same of aggregates over arrays."""
        self._forget()

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        super().open(node, context, key_context)
        assert context.states is not None, "an aggregate is keyed"
        context.states.declare(SLOT, VALUE, type_data("PICKLED_BYTE_ARRAY"))

    def take(self, columns: Columns, codes: np.ndarray[Any, Any], distinct: list[Any]) -> None:
        """Add and retract rows: all at once where the aggregates allow it, otherwise each."""
        if not len(columns):
            return
        minus = retracted(columns)
        if self._folded is not None:
            self._fold(self._folded, columns.batch, codes, distinct, minus)
            return
        backend = self.key_context.backend
        states = [backend.enter(key).get(SLOT) for key in distinct]
        if self._folds:
            self._remember(columns.batch, codes, distinct, states)
        take = self._take_at_once if self._vectors is not None else self._take_each
        made = take(columns, codes, minus, states)
        self._store(distinct, states)
        if made is not None:
            self.outputs.columns(made)

    def _store(self, keys: Sequence[Any], states: Sequence[list[Any] | None]) -> None:
        """Store the states of keys; a key without rows has none."""
        backend = self.key_context.backend
        for key, state in zip(keys, states, strict=True):
            entry = backend.enter(key)
            if state is not None:
                entry[SLOT] = state
            else:
                entry.pop(SLOT, None)
            backend.changed(key)

    def _fold(
        self,
        folded: FoldedKeys,
        batch: Any,
        codes: np.ndarray[Any, Any],
        distinct: list[Any],
        minus: np.ndarray[Any, Any] | None,
    ) -> None:
        places = folded.missing(distinct)
        if places:
            enter = self.key_context.backend.enter
            states = [enter(distinct[place]).get(SLOT) for place in places]
            folded.reach(batch, codes, distinct, places, states)
        folded.add(codes, distinct, self._contributions(batch, minus))

    def _contributions(
        self, batch: Any, minus: np.ndarray[Any, Any] | None
    ) -> list[np.ndarray[Any, Any]]:
        assert self._vectors is not None, "asked before"
        if self._spec.gets_partials:
            return self._vectors.of_partials(batch)
        return self._vectors.contributions(batch, minus)

    def _take_at_once(
        self,
        columns: Columns,
        codes: np.ndarray[Any, Any],
        minus: np.ndarray[Any, Any] | None,
        states: list[list[Any] | None],
    ) -> Columns | None:
        vectors, spec, batch = self._vectors, self._spec, columns.batch
        assert vectors is not None, "asked before"
        before = vectors.load(states)
        contributions = self._contributions(batch, minus)
        if not self._gives_each:
            totals = vectors.totals(codes, contributions, before)
            if spec.gets_partials or minus is None or int(totals[0].min()) >= 0:
                states[:] = vectors.store(totals)
                return None
            return self._take_each(columns, codes, minus, states)
        after, previous = vectors.running(codes, contributions, before)
        if minus is not None and int(after[0].min()) < 0:
            return self._take_each(columns, codes, minus, states)  # some were never added
        last = last_rows(codes, len(states))
        states[:] = vectors.store([array[last] for array in after])
        return changed_rows(spec, batch, vectors, before, after, previous)

    def _take_each(
        self,
        columns: Columns,
        codes: np.ndarray[Any, Any],
        minus: np.ndarray[Any, Any] | None,
        states: list[list[Any] | None],
    ) -> Columns | None:
        batch, spec = columns.batch, self._spec
        rows = _argument_rows(batch, spec.aggregates)
        changes = Changes(spec.updates_before)
        record = changes.add if self._gives_each else None
        for row, code in enumerate(codes.tolist()):
            retracts = minus is not None and bool(minus[row])
            state = states[code]
            if state is None:
                if retracts:
                    continue  # what was never added; Flink ignores it, too
                state = states[code] = [0, *(each.zero() for each in self._accumulators)]
                before = None
            else:
                before = self._results(state) if record is not None else None
            state[0] += -1 if retracts else 1
            for number, values in enumerate(rows(row), 1):
                if values is not None:
                    each = self._accumulators[number - 1]
                    change = each.retract if retracts else each.add
                    state[number] = change(state[number], values)
            gone = state[0] <= 0
            if record is not None:
                record(row, before, None if gone else self._results(state))
            if gone:
                states[code] = None
        return changes.columns(batch, spec) if changes.rows else None

    def _remember(
        self,
        batch: Any,
        codes: np.ndarray[Any, Any],
        distinct: list[Any],
        states: list[list[Any] | None],
    ) -> None:
        """Keep the results of keys that the micro-batch reaches for the first time."""
        import pyarrow as pa

        added = [place for place, key in enumerate(distinct) if key not in self._before]
        if not added:
            return
        for place in added:
            state = states[place]
            self._before[distinct[place]] = None if state is None else self._results(state)
        first = first_rows(codes, len(distinct))
        rows = batch.select([*self._spec.keys]).take(pa.array(first[added]))
        self._key_rows.append(rows)

    def complete(self) -> None:
        """Give the change of each key that the micro-batch has reached."""
        import pyarrow as pa

        if self._folded:
            self._complete_folded(self._folded)
        if not self._before:
            return
        backend, changes = self.key_context.backend, Changes(self._spec.updates_before)
        for number, (key, before) in enumerate(self._before.items()):
            state = backend.enter(key).get(SLOT)
            changes.add(number, before, None if state is None else self._results(state))
        keys = pa.Table.from_batches(self._key_rows).combine_chunks().to_batches()[0]
        self._forget()
        if changes.rows:
            self.outputs.columns(changes.columns(keys, self._spec))

    def _complete_folded(self, folded: FoldedKeys) -> None:
        import numpy as np

        assert self._vectors is not None, "only such aggregates are folded"
        keys = folded.keys
        self._store(keys, self._vectors.store(folded.now))
        made = changed_rows(
            self._spec,
            folded.key_columns(),
            self._vectors,
            folded.before,
            folded.now,
            np.arange(len(keys)),
        )
        self._forget()
        if made is not None:
            self.outputs.columns(made)

    def restore(self, state: Any | None) -> None:
        """Drop what a failed task run has left."""
        super().restore(state)
        self._forget()

    def _forget(self) -> None:
        self._before, self._key_rows = {}, []
        self._folded = None
        if self._vectors is not None and self._folds:
            self._folded = FoldedKeys(self._vectors, self._spec.keys)

    def _results(self, state: list[Any]) -> list[Any]:
        return [each.result(part) for each, part in zip(self._accumulators, state[1:], strict=True)]

    def finish(self, backend: StateBackend) -> None:
        """Emit the results of each key, at the end of a batch."""
        if self._spec.emits != "last":
            return
        import pyarrow as pa

        from headrace.runtime.columns.batch import Columns
        from headrace.runtime.columns.shapes import NAMED_ROWS

        keys = [key for key in [*backend.keys()] if SLOT in backend.enter(key)]
        if not keys:
            return
        results = [self._results(backend.enter(key)[SLOT]) for key in keys]
        parts = [(key,) for key in keys] if len(self._spec.keys) == 1 else keys
        values = [[*part, *result] for part, result in zip(parts, results, strict=True)]
        schema = self._spec.result
        arrays = [
            pa.array(each, field.type)
            for each, field in zip(zip(*values, strict=True), schema, strict=True)
        ]
        self.outputs.columns(Columns(pa.RecordBatch.from_arrays(arrays, schema=schema), NAMED_ROWS))

    def fire_user_timer(self, timer: Timer, is_event_time: bool) -> None:
        """Do nothing: it sets no timers."""


def _argument_rows(
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
