"""A value per key into which every record is reduced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headrace.operators.aggregates.aggregate import OfRecords, reduction_of
from headrace.operators.combine import CombineSpec
from headrace.operators.keyed import StatefulOperator
from headrace.runtime.context import TaskContext
from headrace.runtime.loops import Push
from headrace.runtime.operator import (
    Combiner,
    Emits,
    NodeProgram,
    Operator,
    OperatorSpec,
    Outputs,
    Traits,
)
from headrace.runtime.state.backend import RESERVED_NAMES, StateBackend, Timer
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.user_function import UserFunction

if TYPE_CHECKING:
    from headrace.operators.reduce_columns import ReducedColumns
    from headrace.runtime.columns.batch import Columns
    from headrace.runtime.columns.keys import ColumnKeys

SLOT = RESERVED_NAMES + "reduce"

_EMITTED = 10_000
"""So many values are emitted at once at the end of a batch."""


@dataclass(frozen=True)
class ReduceSpec(OperatorSpec):
    """``function(value1, value2)`` gives the reduced value; a function object may keep keyed state.

    ``associative``: it may reduce what was reduced before, and keeps no state. ``emits``: the value
    after each record, or at the end of the input the last one of each key.
    """

    function: UserFunction
    operation: str = "Reduce"
    associative: bool = False
    emits: Emits = "each"
    kind = "reduce"

    @property
    def fold(self) -> OfRecords | None:
        """What the function does, where columns can do it."""
        return reduction_of(self.function)

    @cached_property
    def traits(self) -> Traits:  # type: ignore[override]
        """It takes columns where it can fold them."""
        takes = self.fold is not None
        return Traits(keyed=True, state=True, keeps_emitted=True, takes_columns=takes)

    @property
    def label(self) -> str:
        return self.operation

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        return (self.function,)

    def build(self) -> Operator:
        return ReduceOperator(self)

    def combiner(self, selector: UserFunction, key_type: Any, by_time: bool) -> Combiner | None:
        """Where only the last value of a key is emitted."""
        if self.emits != "last" or not self.associative:
            return None
        return Combiner(CombineSpec(selector, self.function, key_type), self)


class ReduceOperator(StatefulOperator):
    """Keeps (value, timestamp of the last record) per key."""

    def __init__(self, spec: ReduceSpec) -> None:
        self._spec = spec
        self._only_last = spec.emits == "last"
        self._reduced: ReducedColumns | None = None
        """Makes columns of results; None where nobody wants columns, or none came so far."""

    def bind(self, outputs: Outputs) -> Push:
        """Keyed operators take blocks; see ``process``."""
        self._outputs = outputs
        self._down = outputs.main
        return self.push_keyed

    def open(self, node: NodeProgram, context: TaskContext, cell: KeyContext) -> None:
        """Open the user's function, and declare the operator's state."""
        super().open(node, context, cell)
        assert context.states is not None, "a reduction is keyed"
        context.states.declare(SLOT)

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        """Reduce each record of a block into its key's value."""
        self._reduce(keys, values, timestamps, self._down)

    def _reduce(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None, down: Push
    ) -> None:
        # Only an object is opened, and could have asked for state.
        cell, may_use_state = self.cell, self._spec.function.method is not None
        backend, only_last = self.cell.backend, self._only_last
        reduce, enter, changed = self._spec.function.bound(), backend.enter, backend.changed
        node = self.node  # noqa: F841
        for key, value, timestamp in zip(
            keys, values, timestamps or [None] * len(values), strict=True
        ):
            entry = enter(key)
            held = entry.get(SLOT)
            if held is not None:
                if may_use_state:
                    cell.key, cell.entry, cell.event_ms = key, entry, timestamp
                value = reduce(held[0], value)
            entry[SLOT] = (value, timestamp)
            changed(key)
            if not only_last:
                down(value, timestamp)

    def process_columns(self, keys: ColumnKeys, columns: Columns) -> None:
        """Reduce the records of a block of columns: as columns where these suffice.

        If not, records are reduced, and their results are made columns for those who want them.
        """
        from headrace.operators.reduce_columns import ColumnsReduction, ReducedColumns

        fold = self._spec.fold
        assert fold is not None, "only such a reduction takes columns"
        only_last, backend = self._only_last, self.cell.backend
        if self._outputs.wants_columns:
            self._reduced = ReducedColumns.like(columns, fold)
        reduced = ColumnsReduction(fold, SLOT).of(keys, columns, backend, only_last)
        if reduced is None:
            stamps = columns.timestamps
            made: list[tuple[Any, int | None]] = []
            self._reduce(
                [*keys],
                columns.rows(),
                None if stamps is None else [*stamps],
                lambda value, timestamp: made.append((value, timestamp)),
            )
            self._emit(made)
        elif not only_last:
            self._outputs.columns(reduced)

    def _emit(self, results: Sequence[tuple[Any, int | None]]) -> None:
        """Emit pairs (value, timestamp): as columns where these are wanted and can hold them."""
        columns = None if self._reduced is None else self._reduced.of(results)
        if columns is not None:
            self._outputs.columns(columns)
            return
        for value, timestamp in results:
            self._down(value, timestamp)

    def finish(self, backend: StateBackend) -> None:
        """Emit the last value of each key, if only those are emitted.

        As columns if the records were, as after each record.
        """
        if not self._only_last:
            return
        keys = list(backend.keys())
        for start in range(0, len(keys), _EMITTED):
            self._emit([backend.enter(key)[SLOT] for key in keys[start : start + _EMITTED]])

    def fire_user_timer(self, timer: Timer, event_time: bool) -> None:
        """A reduction sets no timers."""
