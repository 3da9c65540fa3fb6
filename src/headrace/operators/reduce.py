"""The operator of ``reduce`` and of rolling aggregates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headrace.operators.aggregates.aggregate import RecordFold, reduction_of
from headrace.operators.combine import CombineSpec
from headrace.operators.keyed import SteppedOperator
from headrace.runtime.context import TaskContext
from headrace.runtime.loops import Push, Step, call_step, compile_process_block
from headrace.runtime.operator import (
    Combiner,
    Emits,
    NodeProgram,
    Operator,
    OperatorSpec,
    Outputs,
    Traits,
)
from headrace.runtime.state.backend import StateBackend, Timer
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.kinds import RESERVED_NAMES, VALUE, timestamped_type
from headrace.runtime.user_function import UserFunction

if TYPE_CHECKING:
    from headrace.common.typeinfo import TypeInformation
    from headrace.operators.reduce_columns import ReducedColumnsBuilder
    from headrace.runtime.columns.batch import Columns
    from headrace.runtime.columns.keys import ColumnKeys

SLOT = RESERVED_NAMES + "reduce"

MIN_COLUMN_RECORDS = 96
"""Blocks with fewer records are reduced record by record: for these, calls of numpy and pyarrow
cost as much (docs/adr/0038-columns-travel.md)."""
_ENTER_KEY = (
    "    $key_context.key, $key_context.entry, $key_context.event_ms = key, $entry, timestamp"
)

_EMIT_BATCH_SIZE = 10_000
"""At the end of a batch job, results are emitted in groups of this size."""


@dataclass(frozen=True)
class ReduceSpec(OperatorSpec):
    """``function(value1, value2)`` returns the reduced value.

    ``associative``: it may also be applied to reduced values, and uses no state. ``emits``: a
    result after each record, or at the end of the input the last one of each key. ``record_type``:
    the declared type of the records.
    """

    function: UserFunction
    operation: str = "Reduce"
    associative: bool = False
    emits: Emits = "each"
    record_type: TypeInformation | None = None
    kind = "reduce"

    @property
    def fold(self) -> RecordFold | None:
        """The function as a fold, if columns can be folded."""
        return reduction_of(self.function)

    @cached_property
    def traits(self) -> Traits:  # type: ignore[override]
        """Takes columns if they can be folded."""
        takes = self.fold is not None
        return Traits(keyed=True, state=True, retains_emitted=True, takes_columns=takes)

    @property
    def label(self) -> str:
        return self.operation

    def build(self) -> Operator:
        return ReduceOperator(self)

    def combiner(self, selector: UserFunction, key_type: Any, by_time: bool) -> Combiner | None:
        """Return a combiner if only the final value of each key is emitted."""
        if self.emits != "last" or not self.associative:
            return None
        return Combiner(CombineSpec(selector, self.function, key_type), self)


class ReduceOperator(SteppedOperator):
    """Keeps the pair (reduced value, timestamp of the last record) of each key."""

    def __init__(self, spec: ReduceSpec) -> None:
        self._spec = spec
        self._only_last = spec.emits == "last"
        self._builder: ReducedColumnsBuilder | None = None
        """Builds columns of results; None if nobody takes columns, or no columns have come yet."""
        self._results: list[tuple[Any, int | None]] = []
        """Results of the current block that are not emitted yet."""

    def bind(self, outputs: Outputs) -> Push:
        """Generate the loops."""
        self._outputs, self._down = outputs, outputs.main
        if self._spec.fold is not None:
            steps = (*self.steps(outputs), call_step(self._collect))
            self._collecting = compile_process_block(steps, self.node.name)
        return super().bind(outputs)

    def restore(self, state: Any | None) -> None:
        """Drop the results of a failed task run."""
        self._results = []

    def _collect(self, value: Any, timestamp: int | None) -> None:
        self._results.append((value, timestamp))

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        super().open(node, context, key_context)
        assert context.states is not None, "a reduction is keyed"
        context.states.declare(SLOT, VALUE, timestamped_type(self._spec.record_type))

    def steps_before(self) -> tuple[Step, ...]:
        """Return no steps: the step of a reduction sets the current key itself."""
        return ()

    def steps_after(self, outputs: Outputs) -> Sequence[Step]:
        """Return no steps if only final results are emitted, in ``finish``."""
        return () if self._only_last else outputs.row()

    def steps(self, outputs: Outputs) -> tuple[Step, ...]:
        lines = (
            "node = $node",
            "$entry = $enter(key)",
            f"$stored = $entry.get({SLOT!r})",
            "if $stored is not None:",
            # Only function objects may use state, and need the current key.
            *((_ENTER_KEY,) if self._spec.function.method is not None else ()),
            "    value = $reduce($stored[0], value)",
            f"$entry[{SLOT!r}] = (value, timestamp)",
            "$changed(key)",
        )
        names = {
            "node": self.node,
            "key_context": self.key_context,
            "function": self._spec.function.as_callable(),
        }
        prologue = (
            "$enter, $changed = $key_context.backend.enter, $key_context.backend.changed",
            "$reduce = $function",
        )
        return (Step(lines, names, prologue=prologue),)

    def process_columns(self, keys: ColumnKeys, columns: Columns) -> None:
        """Reduce a block of columns: as arrays if exact and worthwhile, otherwise by record.

        Results of records are converted to columns again if an operator downstream takes columns.
        """
        from headrace.operators.reduce_columns import ColumnReducer, ReducedColumnsBuilder

        fold = self._spec.fold
        assert fold is not None, "only such a reduction takes columns"
        only_last, backend = self._only_last, self.key_context.backend
        if self._outputs.wants_columns:
            self._builder = ReducedColumnsBuilder.like(columns, fold)
        reduced = None
        if len(columns) >= MIN_COLUMN_RECORDS:
            reduced = ColumnReducer(fold, SLOT).reduce(keys, columns, backend, only_last)
        if reduced is None:
            stamps = columns.timestamps
            take = self.process if only_last else self._collecting
            take([*keys], columns.rows(), None if stamps is None else [*stamps])
            results, self._results = self._results, []
            self._emit(results)
        elif not only_last:
            self._outputs.columns(reduced)

    def _emit(self, results: Sequence[tuple[Any, int | None]]) -> None:
        """Emit pairs ``(value, timestamp)``: as columns if wanted and possible."""
        columns = None if self._builder is None else self._builder.build(results)
        if columns is not None:
            self._outputs.columns(columns)
            return
        for value, timestamp in results:
            self._down(value, timestamp)

    def finish(self, backend: StateBackend) -> None:
        """Emit the last value of each key, if only those are emitted."""
        if not self._only_last:
            return
        keys = list(backend.keys())
        for start in range(0, len(keys), _EMIT_BATCH_SIZE):
            self._emit([backend.enter(key)[SLOT] for key in keys[start : start + _EMIT_BATCH_SIZE]])

    def fire_user_timer(self, timer: Timer, is_event_time: bool) -> None:
        """Do nothing: a reduction sets no timers."""
