"""What a ``Calc`` computes, as a function of record batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from headrace.operators.columns.calc import BatchFunction
from headrace.sql.evaluate import compile_condition, compile_expressions
from headrace.sql.expressions import Expression, implementations, with_implementations
from headrace.sql.functions.function import Session
from headrace.sql.rel import Columns, arrow_schema
from headrace.sql.types import to_arrow_schema

Projected = tuple[Any, Any | None]
"""A batch, and the indices of the rows that it has; None: all."""


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

    def compile(self) -> Callable[[Any, int], Projected]:
        """Return the function: of a batch and the time of day (ms)."""
        import numpy as np
        import pyarrow as pa

        given = arrow_schema(self.input)
        schema = to_arrow_schema(self.names, (each.type for each in self.expressions))
        compute = compile_expressions(self.expressions, given)
        holds = None if self.condition is None else compile_condition(self.condition, given)
        zone = self.time_zone

        def project(batch: Any, now_ms: int) -> Projected:
            session = Session(zone, now_ms)
            kept = None
            if holds is not None:
                mask = holds(batch, session)
                if not all(mask):
                    kept = np.flatnonzero(mask)
                    batch = batch.take(pa.array(kept))
            arrays = compute(batch, session)
            if not arrays:
                return batch.select([]), kept
            return pa.RecordBatch.from_arrays(arrays, schema=schema), kept

        return project
