"""What a ``Calc`` computes, as a function of record batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.operators.columns.calc import BatchContext, BatchFunction
from headrace.sql.evaluate import compile_condition, compile_expressions
from headrace.sql.expressions import (
    Call,
    Expression,
    implementations,
    walk,
    with_implementations,
)
from headrace.sql.functions.function import Session
from headrace.sql.functions.table import FUNCTIONS
from headrace.sql.rel import Columns, arrow_schema
from headrace.sql.types import to_arrow_schema

Projected = tuple[Any, Any | None]
"""A batch, and the indices of the rows that it has; None: all."""

_OF_CONDITION = 1
"""Makes the random numbers of a condition others than those of the rows that it leaves."""


def session_of(context: BatchContext, time_zone: str) -> Session:
    """Return what expressions are computed under for a batch."""
    return Session(time_zone, context.now_ms, context.seed, context.first_row, context.watermark_ms)


def reads(expressions: Sequence[Expression], *, chance: bool) -> bool:
    """Return whether expressions give random values; or whether they depend on the watermark."""
    called = (
        FUNCTIONS.get(each.function)
        for expression in expressions
        for each in walk(expression)
        if isinstance(each, Call)
    )
    return any(
        each is not None and (not each.deterministic if chance else each.of_watermark)
        for each in called
    )


@dataclass(frozen=True)
class Projection(BatchFunction):
    """New columns of the rows for which a condition is true."""

    input: Columns
    names: tuple[str, ...]
    expressions: tuple[Expression, ...]
    condition: Expression | None = None
    time_zone: str = "UTC"

    @property
    def summary(self) -> str:
        """What it computes, for ``explain``."""
        parts = [
            f"{each} AS {name}" for name, each in zip(self.names, self.expressions, strict=True)
        ]
        where = "" if self.condition is None else f", where=[{self.condition}]"
        return f"select=[{', '.join(parts)}]{where}"

    @property
    def functions(self) -> tuple[Any, ...]:
        condition = () if self.condition is None else (self.condition,)
        return implementations((*condition, *self.expressions))

    def with_functions(self, copies: Mapping[Any, Any]) -> Projection:
        condition = self.condition
        return replace(
            self,
            expressions=tuple(with_implementations(each, copies) for each in self.expressions),
            condition=None if condition is None else with_implementations(condition, copies),
        )

    @property
    def reads_chance(self) -> bool:
        """Whether it gives random values."""
        return reads(self._all, chance=True)

    @property
    def reads_watermark(self) -> bool:
        """Whether its values depend on the watermark."""
        return reads(self._all, chance=False)

    @property
    def _all(self) -> Sequence[Expression]:
        return self.expressions if self.condition is None else (*self.expressions, self.condition)

    def compile(self) -> Callable[[Any, BatchContext], Projected]:
        """Return the function: of a batch, and of what is known of its task."""
        import numpy as np
        import pyarrow as pa

        given = arrow_schema(self.input)
        schema = to_arrow_schema(self.names, (each.type for each in self.expressions))
        compute = compile_expressions(self.expressions, given)
        holds = None if self.condition is None else compile_condition(self.condition, given)
        zone = self.time_zone

        def project(batch: Any, context: BatchContext) -> Projected:
            session = session_of(context, zone)
            kept = None
            if holds is not None:
                mask = holds(batch, replace(session, seed=session.seed ^ _OF_CONDITION))
                if mask.true_count < len(mask):
                    kept = np.flatnonzero(mask)
                    batch = batch.filter(mask)
            arrays = compute(batch, session)
            if not arrays:
                return batch.select([]), kept
            return pa.RecordBatch.from_arrays(arrays, schema=schema), kept

        return project
