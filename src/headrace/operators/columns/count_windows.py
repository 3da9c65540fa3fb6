"""Aggregation by key and count windows: a window gives its result with its last row.

A window of a key begins at every ``slide``-th row. A window that does not get all its rows gives no
result, as in Flink.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common.changelog_mode import ChangelogMode
from headrace.operators.columns.accumulator import Aggregated
from headrace.operators.columns.aggregate_spec import AggregatesSpec
from headrace.operators.columns.gathering import KeyedColumnOperator
from headrace.operators.columns.group_rows import argument_rows, change_states
from headrace.runtime.context import TaskContext
from headrace.runtime.operator import NodeProgram, Operator, Traits
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.kinds import RESERVED_NAMES, VALUE

if TYPE_CHECKING:
    import numpy as np

    from headrace.runtime.columns.batch import Columns

SLOT = RESERVED_NAMES + "count-windows"
"""The state of a key: the number of its rows, and its open windows, each with the number of its
first row and the states of its accumulators."""


@dataclass(frozen=True)
class CountWindowSpec(AggregatesSpec):
    """``keys``: columns of the input. ``schema``: of the input; ``result``: of keys and results.

    ``size``: the rows of a window. ``slide``: after how many rows of a key the next window begins.
    """

    keys: tuple[str, ...]
    size: int
    slide: int
    aggregates: tuple[Aggregated, ...]
    schema: Any
    result: Any
    traits = Traits(keyed=True, state=True, takes_columns=True, gives_columns=True)
    kind = "count-window-aggregate"
    label = "CountWindowAggregate"

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """Return inserts."""
        return ChangelogMode.insert_only()

    def build(self) -> Operator:
        return CountWindowOperator(self)


class CountWindowOperator(KeyedColumnOperator):
    """Keeps the open windows of a key as one value."""

    def __init__(self, spec: CountWindowSpec) -> None:
        super().__init__(spec.schema)
        self._spec = spec
        self._accumulators = [each.accumulator for each in spec.aggregates]

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        super().open(node, context, key_context)
        assert context.states is not None, "windows are keyed"
        context.states.declare(SLOT, VALUE)

    def take(self, columns: Columns, codes: np.ndarray[Any, Any], distinct: list[Any]) -> None:
        """Add rows to the windows of their keys."""
        backend, batch = self.key_context.backend, columns.batch
        stored = [backend.enter(key).get(SLOT) for key in distinct]
        states: list[list[Any]] = [[0, []] if each is None else each for each in stored]
        values_of = argument_rows(batch, self._spec.aggregates)
        full: list[tuple[int, list[Any]]] = []
        for row, code in enumerate(codes.tolist()):
            results = self._add(states[code], values_of(row))
            if results is not None:
                full.append((row, results))
        for key, state in zip(distinct, states, strict=True):
            backend.enter(key)[SLOT] = state
            backend.changed(key)
        if full:
            self._emit(batch, full)

    def _add(self, state: list[Any], values: Sequence[tuple[Any, ...] | None]) -> list[Any] | None:
        """Add a row to the open windows of its key; return the results of one that is full."""
        spec, (number, windows) = self._spec, state
        if number % spec.slide == 0:
            windows.append([number, *(each.zero() for each in self._accumulators)])
        state[0] = number + 1
        for window in windows:
            change_states(window, self._accumulators, values)
        if not windows or windows[0][0] + spec.size != number + 1:
            return None
        _, *parts = windows.pop(0)
        return [each.result(part) for each, part in zip(self._accumulators, parts, strict=True)]

    def _emit(self, batch: Any, full: Sequence[tuple[int, list[Any]]]) -> None:
        import pyarrow as pa

        from headrace.runtime.columns.batch import Columns
        from headrace.runtime.columns.shapes import NAMED_ROWS

        spec = self._spec
        rows = pa.array([row for row, _ in full])
        keys = batch.select([*spec.keys]).take(rows).columns
        results = zip(*(each for _, each in full), strict=True)
        fields = [*spec.result][len(spec.keys) :]
        arrays = [pa.array(each, field.type) for each, field in zip(results, fields, strict=True)]
        made = pa.RecordBatch.from_arrays([*keys, *arrays], schema=spec.result)
        self.outputs.columns(Columns(made, NAMED_ROWS))
