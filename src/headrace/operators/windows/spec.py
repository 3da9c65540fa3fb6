"""The spec of all windows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from headrace.operators.aggregates.aggregate import Fold
from headrace.operators.windows.aligned.columns import ColumnWindowOperator
from headrace.operators.windows.aligned.grid import grid_of
from headrace.operators.windows.aligned.operator import AlignedWindowOperator
from headrace.operators.windows.aligned.tables import layout_kind
from headrace.operators.windows.combining.columns import CombineColumnsSpec
from headrace.operators.windows.combining.combine import CombineWindowsSpec
from headrace.operators.windows.combining.sessions import CombineSessionsSpec
from headrace.operators.windows.folding import column_fold, merges_in_any_order, merges_in_order
from headrace.operators.windows.general.clocks import clocks_of
from headrace.operators.windows.general.evicting import EvictingWindowOperator
from headrace.operators.windows.general.operator import WindowOperator
from headrace.operators.windows.sessions import SessionOperator, gap_of
from headrace.operators.windows.windowing import Windowing
from headrace.runtime.columns.selectors import key_columns
from headrace.runtime.operator import Combiner, Operator, OperatorSpec, Traits
from headrace.runtime.user_function import UserFunction


@dataclass(frozen=True)
class WindowSpec(Windowing, OperatorSpec):
    """Windows of a keyed stream.

    ``build`` chooses the operator by assigner, trigger and contents.
    """

    @cached_property
    def kind(self) -> str:  # type: ignore[override]
        """The operator's kind in checkpoints, which includes how its windows are stored.

        A program that stores its windows in another way cannot resume from the checkpoint.
        """
        grid = grid_of(self)
        if grid is not None:
            return layout_kind(grid, merges_in_any_order(self.contents))
        if gap_of(self) is not None:
            return f"{self.contents.state_kind}-sessions"
        state_layout = getattr(self.assigner.target, "state_layout", None)
        state_layout = state_layout or ("merging-window" if self.merging else "window")
        if not (self.event_time or self.endless):
            state_layout = f"processing-time-{state_layout}"
        return state_layout if self.evictor is None else f"evicting-{state_layout}"

    @cached_property
    def traits(self) -> Traits:  # type: ignore[override]
        """Timers are those that the trigger sets, and that of the end of the window."""
        event_time, clocks = self.event_time, clocks_of(self.trigger.target)
        return Traits(
            keyed=True,
            state=True,
            event_timers=event_time or clocks.event_time,
            processing_timers=clocks.processing_time or not (self.endless or event_time),
            event_time=event_time,
            side_outputs=True,
            retains_emitted=True,
            takes_columns=self.fold is not None,
            gives_rows=True,
            side_columns=True,
        )

    @property
    def fold(self) -> Fold | None:
        """The fold that columns can compute; None if the window needs records."""
        grid = grid_of(self)
        if grid is None or grid.size_ms != grid.slide_ms:
            return None
        return None if self.allowed_lateness_ms else column_fold(self.contents)

    @property
    def label(self) -> str:
        return type(self.assigner.target).__name__

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        return self.contents.functions

    def copied(self) -> Self:
        """Return a copy with its own functions, for one task."""
        copy = super().copied()
        vars(copy)["contents"] = self.contents.copied()
        return copy

    def combiner(self, selector: UserFunction, key_type: Any, by_time: bool) -> Combiner | None:
        """Return the first of two phases, if accumulators merge and only event time fires windows.

        None if late records are needed one by one; in a batch by time no record is late. Partial
        aggregates have no timestamp of their own, so there the accumulators must be mergeable in
        any order.
        """
        if by_time and not merges_in_any_order(self.contents):
            return None
        if not by_time and (self.allowed_lateness_ms or self.late_tag is not None):
            return None
        if not merges_in_order(self.contents):
            return None
        grid, gap = grid_of(self), gap_of(self)
        is_tumbling = grid is not None and grid.size_ms == grid.slide_ms
        if not (is_tumbling or merges_in_any_order(self.contents)):
            return None
        contents = replace(self.contents, window_function=None)
        spec: OperatorSpec | None = None
        if grid is not None:
            spec = CombineWindowsSpec(selector, contents, grid, key_type=key_type)
            names, fold = key_columns(selector, key_type), column_fold(contents)
            if names is not None and fold is not None and grid.slide_ms <= grid.size_ms:
                spec = CombineColumnsSpec(selector, contents, grid, names, fold, key_type=key_type)
        elif isinstance(gap, int):
            spec = CombineSessionsSpec(selector, contents, gap, key_type=key_type)
        if spec is None:
            return None
        return Combiner(spec, replace(self, combined=True))

    def build(self) -> Operator:
        grid = grid_of(self)
        if grid is not None:
            fold = self.fold
            if fold is not None:
                return ColumnWindowOperator(self, grid, fold)
            return AlignedWindowOperator(self, grid)
        gap = gap_of(self)
        if gap is not None:
            return SessionOperator(self, gap)
        return WindowOperator(self) if self.evictor is None else EvictingWindowOperator(self)
