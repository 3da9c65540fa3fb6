"""The first of two phases of windows, for records that come as columns.

The rules are those of rows (``combine``), for a chunk of columns at a time: no watermark stands
within one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.common.watermark_strategy import MAX_WATERMARK
from headrace.operators.aggregates.aggregate import Fold
from headrace.operators.windows.combining.combine import CombineWindowsOperator, CombineWindowsSpec
from headrace.runtime.exchange.send_context import BYTES_GATHERED
from headrace.runtime.loops import Push, calling, pushing_all
from headrace.runtime.operator import Operator, Outputs, Signal, Traits

if TYPE_CHECKING:
    from headrace.operators.windows.aligned.partials import Partials, ProjectedBatch
    from headrace.runtime.columns.batch import Columns, PushColumns

MOST_RECORDS = 1 << 19
"""So many are combined at once: the more there are, the more of them have the same key."""

MOST_BYTES = 4 * BYTES_GATHERED
"""Records of more bytes are not gathered: columns may hold on to others that came with them."""

_MOST = (1 << 63) - 1


@dataclass(frozen=True)
class CombineColumnsSpec(CombineWindowsSpec):
    """Before windows of a grid, where columns name the key. ``fold``: what comes of them."""

    key_columns: tuple[str, ...]
    fold: Fold
    traits = Traits(takes_columns=True)
    label = "Combine columns"

    def build(self) -> Operator:
        return CombineColumnsOperator(self)


class CombineColumnsOperator(CombineWindowsOperator):
    """Gathers columns until the task run ends or there are many, and sends them combined.

    At any time it holds columns or rows, not both.
    """

    def __init__(self, spec: CombineColumnsSpec) -> None:
        super().__init__(spec)
        self._columns_spec = spec
        self._partials: Partials | None = None
        self._gathered: list[ProjectedBatch] = []
        self._records = self._bytes = self._reach = 0

    def bind(self, outputs: Outputs) -> Push:
        """The function that takes a single record."""
        push = super().bind(outputs)
        step = self.step()
        assert step is not None, "a combiner is a part of loops"
        self._push_rows: Callable[..., None] = pushing_all(
            (step, calling(outputs.main)), self.node.name
        )
        return push

    def begin_chunk(self, count: int) -> bool:
        """Whether a chunk of so many rows is combined. Columns that came before it are sent."""
        if self._gathered:
            self._flush()
        return super().begin_chunk(count)

    def bind_columns(self, outputs: Outputs) -> PushColumns:
        """The function that takes columns."""
        from headrace.operators.windows.aligned.partials import partials_of

        spec, self._outputs = self._columns_spec, outputs

        def push(columns: Columns) -> None:
            if self._tables or self._ended:
                self._flush()
            if not self._policy.should_combine(len(columns)):
                self._flush()
                outputs.columns(columns)
                return
            partials = partials_of(spec.fold, spec.key_columns, spec.grid, columns)
            if partials != self._partials:
                self._flush()
                self._partials = partials
            taken = partials.taken(columns)
            if taken is None:
                self._push_rows(columns.rows(), columns.timestamps and [*columns.timestamps])
                return
            self._take(taken, partials)

        return push

    def _take(self, taken: ProjectedBatch, partials: Partials) -> None:
        late = taken.panes(partials) <= self._watermark - self._grid.pane_ms + 1
        if not late.any():
            self._gather(taken)
            return
        if not late.all():
            self._gather(taken.where(~late))
        # What a watermark has ended comes after it, and is not combined.
        self._flush()
        self._outputs.columns(taken.where(late).columns)

    def _gather(self, taken: ProjectedBatch) -> None:
        gathered = self._gathered
        if gathered and not (gathered[0].is_like(taken) and self._reach + taken.reach <= _MOST):
            self._flush()
        gathered.append(taken)
        self._reach += taken.reach
        self._records += len(taken)
        self._bytes += taken.columns.nbytes
        if self._records >= MOST_RECORDS or self._bytes >= MOST_BYTES:
            self._flush()

    def _discard(self) -> None:
        super()._discard()
        self._forget()

    def _forget(self) -> None:
        self._gathered.clear()
        self._records = self._bytes = self._reach = 0

    def watermark(self, watermark: int, idle: bool, signal: Signal) -> None:
        """Let a watermark wait for the records before it."""
        if not self._gathered:
            super().watermark(watermark, idle, signal)
            return
        self._watermark = max(watermark, self._watermark)
        self._signal = signal
        if not idle and watermark < MAX_WATERMARK:
            self._waiting = watermark
            return
        self._flush()
        signal(watermark, idle)

    def _flush(self) -> None:
        partials = self._partials
        if self._gathered and partials is not None:
            found = partials.made(self._gathered)
            self._policy.add_sample(self._records, found.num_rows)
            self._forget()
            self._outputs.columns(partials.columns(found))
        super()._flush()
