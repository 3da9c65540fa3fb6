"""Filter and projection: each row becomes another one, or none."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol, Self

from headrace.common.changelog_mode import ChangelogMode, union
from headrace.common.watermark_strategy import MIN_WATERMARK
from headrace.errors import TypeMismatchError
from headrace.operators.columns.gathering import ColumnOperator
from headrace.runtime.context import TaskContext
from headrace.runtime.operator import NodeProgram, Operator, OperatorSpec, PushWatermark, Traits
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.user_function import UserFunction, copy_function_object

if TYPE_CHECKING:
    from headrace.runtime.columns.batch import Columns


@dataclass(frozen=True, slots=True)
class BatchContext:
    """What a function may know of the task that computes a batch.

    ``now_ms``: the time of day of the micro-batch. ``seed``: of random numbers; tasks, operators
    and micro-batches have different ones. ``first_row``: how many rows the operator had before
    these. ``watermark_ms``: None before the first one.
    """

    now_ms: int = 0
    seed: int = 0
    first_row: int = 0
    watermark_ms: int | None = None


class BatchFunction(Protocol):
    """Computes new columns from a record batch; by default without functions of users.

    A function that reads the seed or the watermark says so by ``reads_chance``,
    ``reads_watermark``; for others these are not kept.
    """

    @property
    def functions(self) -> tuple[Any, ...]:
        """The functions of users that it calls: objects with ``open`` and ``close``."""
        return ()

    def with_functions(self, copies: Mapping[Any, Any]) -> BatchFunction:
        """Return it with copies of the functions."""
        return self

    @property
    def reads_chance(self) -> bool:
        """Whether it gives random values."""
        return False

    @property
    def reads_watermark(self) -> bool:
        """Whether its values depend on the watermark."""
        return False

    def compile(self) -> CompiledBatchFunction:
        """Return the function, for one task."""

    @property
    def summary(self) -> str:
        """What it computes, for ``explain``."""


class CompiledBatchFunction(Protocol):
    """A ``BatchFunction`` of one task."""

    def __call__(self, batch: Any, context: BatchContext) -> tuple[Any, Any | None]:
        """Return the new batch, and which rows it has: indices, or None for all."""


@dataclass(frozen=True)
class CalcSpec(OperatorSpec):
    """``function``: computes the rows. ``schema``: of the input. ``time``: the column of the result
    that has the rows' timestamps; None: they keep those that they have."""

    function: BatchFunction
    schema: Any
    time: str | None = None
    traits = Traits(takes_columns=True, gives_columns=True)
    kind = "calc"
    label = "Calc"

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """Return the kinds of the input."""
        return union(inputs)

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        return tuple(UserFunction(each, "kernel") for each in self.function.functions)

    def copied(self) -> Self:
        functions = self.function.functions
        if not functions:
            return self
        made = copy.copy(self)
        copies = {each: copy_function_object(each) for each in functions}
        vars(made)["function"] = self.function.with_functions(copies)
        return made

    def build(self) -> Operator:
        return CalcOperator(self)


class CalcOperator(ColumnOperator):
    """Computes batches by a function."""

    def __init__(self, spec: CalcSpec) -> None:
        super().__init__(spec.schema)
        self._spec = spec
        self._rows_before = 0
        self._watermark_ms: int | None = None

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        super().open(node, context, key_context)
        self._compute = self._spec.function.compile()
        self._reads_chance = self._spec.function.reads_chance
        self._subtask = context.get_index_of_this_subtask

    def take(self, columns: Columns) -> None:
        import pyarrow as pa

        from headrace.runtime.columns.batch import Columns
        from headrace.runtime.columns.shapes import NAMED_ROWS

        node = self.node  # noqa: F841  for ``annotate``
        batch, kept = self._compute(columns.batch, self._context(len(columns)))
        times, kinds = columns.times, columns.kinds
        if kept is not None:
            if not len(kept):
                return
            times = None if times is None else times.take(pa.array(kept))
            kinds = None if kinds is None else kinds[kept]
        made = Columns(batch, NAMED_ROWS, times, kinds)
        if self._spec.time is not None:
            timed = made.with_times_of_column(self._spec.time)
            if timed is None:
                raise TypeMismatchError(
                    f"the event time {self._spec.time!r} of a row is NULL",
                    hint="leave such rows out before the table's watermark, or give them a time",
                )
            made = timed
        self.outputs.columns(made)

    def _context(self, rows: int) -> BatchContext:
        now_ms = self.key_context.now_ms
        if not self._reads_chance:
            return BatchContext(now_ms, watermark_ms=self._watermark_ms)
        first, self._rows_before = self._rows_before, self._rows_before + rows
        seed = _seed(self.node.id, self._subtask(), now_ms)
        return BatchContext(now_ms, seed, first, self._watermark_ms)

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        super().watermark(watermark, idle, push_watermark)
        if watermark > MIN_WATERMARK:
            self._watermark_ms = watermark

    def snapshot(self) -> int | None:
        return self._watermark_ms if self._spec.function.reads_watermark else None

    def restore(self, state: int | None) -> None:
        """Set the watermark; rows are counted on, so that no two have the same number."""
        super().restore(state)
        self._watermark_ms = state


@lru_cache(maxsize=64)
def _seed(operator: str, subtask: int, now_ms: int) -> int:
    text = f"{operator} {subtask} {now_ms}"
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
