"""The combiner of aligned windows: the first of two phases, before the key exchange.

A record is combined only if its windows have not fired by the watermark before it. The receiver's
watermark is not ahead of that, so the receiver's results are the same as for single records. For
the same reason watermarks may be deferred: records of windows that a watermark does not end may be
sent before it. All other records are sent one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

from headrace.common.watermark_strategy import MAX_WATERMARK, MIN_WATERMARK
from headrace.operators.combine import COPY_IF_MUTABLE, MAX_KEYS, STEP_FUNCTIONS, CombiningOperator
from headrace.operators.windows.aligned.grid import Grid
from headrace.operators.windows.contents import Aggregated, Contents, Reduced
from headrace.operators.windows.folding import column_fold, folding_of
from headrace.operators.windows.partial_aggregates import (
    AccumulatorBatch,
    PartialAggregates,
    encode_partials,
    split_by_key_group,
)
from headrace.runtime.exchange.steps import ValueWithKey, typed_selector
from headrace.runtime.keys.key_groups import KeyGroups
from headrace.runtime.loops import Push, Step
from headrace.runtime.operator import Operator, OperatorSpec, Outputs, PushWatermark, Traits
from headrace.runtime.user_function import UserFunction


def fold_expressions(contents: Contents, accumulator: str) -> tuple[str, str, dict[str, Any]]:
    """Return the expressions for the first and for a further value, and the functions they call.

    ``accumulator``: the expression of the accumulator so far.
    """
    if isinstance(contents, Aggregated) and column_fold(contents) is None:
        function = contents.fitted()
        names = {"add": function.add, "create": function.create_accumulator}
        return "$add(value, $create())", f"$add(value, {accumulator})", names
    folding = folding_of(contents)
    assert folding is not None, "lists are not combined"
    initial = "value" if isinstance(contents, Reduced) else "$initial(value)"
    return initial, f"$add({accumulator}, value)", {"initial": folding.initial, "add": folding.add}


@dataclass(frozen=True)
class CombineContentsSpec(OperatorSpec):
    """Stands before the exchange to windows whose contents can be merged."""

    selector: UserFunction
    contents: Contents
    _: KW_ONLY
    key_type: Any = None
    traits = Traits()
    label = "Combine"

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        return (self.selector, *self.contents.functions)

    def copied(self) -> Self:
        """Return a copy with its own functions, for one task."""
        copy = super().copied()
        vars(copy)["contents"] = self.contents.copied()
        return copy


@dataclass(frozen=True)
class CombineWindowsSpec(CombineContentsSpec):
    """The combiner of aligned windows."""

    grid: Grid
    kind = "combine-windows"

    def build(self) -> Operator:
        return CombineWindowsOperator(self)


class CombineContentsOperator(CombiningOperator):
    """Base class of window combiners: keys, and how accumulators are sent."""

    def __init__(self, spec: CombineContentsSpec) -> None:
        super().__init__()
        self._window_spec = spec

    def bind(self, outputs: Outputs) -> Push:
        self._groups = KeyGroups(outputs.key_groups)
        return super().bind(outputs)

    def key_of(self) -> Callable[[Any], Any]:
        """Return a function that returns a record's key, coerced to the declared type."""
        return typed_selector(self._window_spec.selector.as_callable(), self._window_spec.key_type)

    def send_partials(
        self, batch: AccumulatorBatch, start_ms: int, count: int, timestamp: int
    ) -> None:
        """Send the accumulators of ``count`` records, in one message per key group."""
        node = self.node
        for group in split_by_key_group(batch, self._groups):
            # The first message has the whole count: all of the records are late, or none.
            group_count, count = count, 0
            partial = PartialAggregates(start_ms, group_count, encode_partials(node, group))
            self._main(ValueWithKey(group.keys[0], partial), timestamp)


class CombineWindowsOperator(CombineContentsOperator):
    """Buffers accumulators by pane and key, until the task run ends or a limit is reached."""

    def __init__(self, spec: CombineWindowsSpec) -> None:
        super().__init__(spec)
        self._spec, self._grid = spec, spec.grid
        self._tables: dict[int, dict[Any, Any]] = {}
        self._ended: dict[int, dict[Any, Any]] = {}
        """The tables of panes that the deferred watermark ends; no records are added to them."""
        self._counts: dict[int, int] = {}
        """The number of records that a pane's table stands for."""
        self._watermark = MIN_WATERMARK
        self._deferred_watermark: int | None = None
        """A watermark that is passed on after the buffered records before it."""

    def step(self) -> Step:
        initial, folded, functions = fold_expressions(self._spec.contents, "$accumulator")
        names = {
            **functions,
            "node": self.node,
            "key_of": self.key_of(),
            "offset": self._grid.offset_ms,
            "pane": self._grid.pane_ms,
            "tables": self._tables,
            "ended": self._ended,
            "counts": self._counts,
            "open_table": self._open_table,
            "operator": self,
            "flush": self._flush,
            "flush_if_full": self._flush_if_full,
            **STEP_FUNCTIONS,
        }
        lines = (
            "node = $node",
            "$passes = True",
            "if $combines and timestamp is not None:",
            "    $start = timestamp - (timestamp - $offset) % $pane",
            "    if $start != $at:",
            # Two panes are cached: records that are out of order alternate between them.
            "        $at, $table, $count, $at_2, $table_2, $count_2 = (",
            "            $at_2, $table_2, $count_2, $at, $table, $count)",
            "        if $start != $at:",
            "            if $count: $counts[$at] += $count",
            "            $at, $count, $table = $start, 0, $tables.get($start)",
            "            if $table is None: $table = $open_table($start)",
            "    if $table is not None:",
            "        $key = $key_of(value)",
            "        if type($key) in $exact or $is_combinable($key):",
            "            $passes = False",
            *("            " + line for line in COPY_IF_MUTABLE),
            "            $accumulator = $table.get($key)",
            f"            $table[$key] = {initial} if $accumulator is None else {folded}",
            "            $count += 1",
            "if $passes:",
            "    if $tables or $ended:",
            "        if $count: $counts[$at] += $count",
            "        if $count_2: $counts[$at_2] += $count_2",
            "        $flush()",
            "    $at = $at_2 = $table = $table_2 = None",
            "    $count = $count_2 = 0",
            "    if True:",
        )
        return Step(
            lines,
            names,
            prologue=(
                "$at = $at_2 = $table = $table_2 = None",
                "$count = $count_2 = 0",
                "$combines = $operator.begin_chunk(len(values))",
            ),
            epilogue=(
                "if $count: $counts[$at] += $count",
                "if $count_2: $counts[$at_2] += $count_2",
                "$flush_if_full()",
            ),
        )

    def _open_table(self, pane: int) -> dict[Any, Any] | None:
        """Make a table for a pane; None if its records must be sent one by one."""
        if self._has_ended(pane) or not self._grid.windows_of(pane):
            return None
        self._counts[pane] = 0
        table = self._tables[pane] = {}
        return table

    def _has_ended(self, pane: int) -> bool:
        """Return whether the watermark has passed the end of a pane, where windows may end."""
        return pane + self._grid.pane_ms - 1 <= self._watermark

    def _flush_if_full(self) -> None:
        """Flush after a chunk if there are too many keys."""
        if sum(map(len, (*self._tables.values(), *self._ended.values()))) >= MAX_KEYS:
            self._flush()

    def restore(self, state: Any | None) -> None:
        """Start a task run, and discard the records of a failed one."""
        super().restore(state)
        self._watermark = MIN_WATERMARK

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        """Defer the watermark until the buffered records before it are sent."""
        self._watermark = max(watermark, self._watermark)
        self._signal = push_watermark
        if (self._tables or self._ended) and not idle and watermark < MAX_WATERMARK:
            self._deferred_watermark = watermark
            for pane in [pane for pane in self._tables if self._has_ended(pane)]:
                self._ended[pane] = self._tables.pop(pane)
            return
        self._flush()
        push_watermark(watermark, idle)

    def _flush(self) -> None:
        if self._tables or self._ended:
            self._send()
        if self._deferred_watermark is not None:
            deferred, self._deferred_watermark = self._deferred_watermark, None
            self._signal(deferred, False)

    def _send(self) -> None:
        sent = 0
        for pane, table in {**self._ended, **self._tables}.items():
            if any(value is None for value in table.values()):
                table = {key: value for key, value in table.items() if value is not None}
            if not table:
                continue
            sent += len(table)
            accumulators = AccumulatorBatch([*table], (), [*table.values()])
            self.send_partials(
                accumulators, pane, self._counts[pane], pane + self._grid.pane_ms - 1
            )
        self._policy.add_sample(sum(self._counts.values()), sent)
        self._clear_tables()

    def _clear_tables(self) -> None:
        self._ended.clear()
        self._tables.clear()
        self._counts.clear()

    def _discard(self) -> None:
        self._clear_tables()
        self._deferred_watermark = None
