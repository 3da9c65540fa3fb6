"""SUM and AVG."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from headrace.operators.columns.parts import (
    COUNT,
    LIMB_BITS,
    SUM,
    AccumulatorPart,
    limbs_of,
    sums_of_limbs,
)
from headrace.operators.columns.vectors import VectorAccumulator
from headrace.sql.aggregates.fitting import EXACT, as_float32, fitted, wrapped
from headrace.sql.types import (
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    SqlType,
    to_arrow,
)

SumState = tuple[Any, int]
"""The sum, and the number of its values."""


@dataclass(frozen=True)
class Sum(VectorAccumulator):
    """The sum of the values that are not NULL; NULL if there is none (``empty``: 0)."""

    of: SqlType
    type: SqlType
    empty: Any = None

    @property
    def parts(self) -> tuple[AccumulatorPart, ...]:
        """Sum and count; for decimals, limbs and count."""
        if isinstance(self.of, DecimalType):
            return (*limbs_of(self.of.precision), COUNT)
        return (SUM, COUNT) if isinstance(self.of, IntegerType | DoubleType) else ()

    def load(self, states: Sequence[SumState]) -> Sequence[Sequence[Any]]:
        totals, counts = zip(*states, strict=True)
        if isinstance(self.of, DecimalType):
            return (*self._limbs(totals), counts)
        if isinstance(self.of, IntegerType) and not _fits(totals):
            totals = tuple(wrapped(total, 64) for total in totals)
        return totals, counts

    def store(self, parts: Sequence[list[Any]]) -> Iterable[SumState]:
        if isinstance(self.of, DecimalType):
            *limbs, counts = parts
            return zip(map(self._total, *limbs), counts, strict=True)
        return zip(*parts, strict=True)

    def _limbs(self, totals: Iterable[Decimal]) -> Sequence[Sequence[int]]:
        """Return the limbs of sums; the highest ones have the signs."""
        assert isinstance(self.of, DecimalType), self.of
        last = len(self.parts) - 2
        numbers = [int(total.scaleb(self.of.scale, EXACT)) for total in totals]
        return [
            [number >> (LIMB_BITS * place) for number in numbers]
            if place == last
            else [(number >> (LIMB_BITS * place)) & ((1 << LIMB_BITS) - 1) for number in numbers]
            for place in range(last + 1)
        ]

    def _total(self, *limbs: int) -> Decimal:
        assert isinstance(self.of, DecimalType), self.of
        total = sum(limb << (LIMB_BITS * place) for place, limb in enumerate(limbs))
        return Decimal(total).scaleb(-self.of.scale, EXACT)

    def results(self, parts: Sequence[Any]) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        *totals, count = parts
        if isinstance(self.of, DecimalType):
            found = sums_of_limbs(totals, to_arrow(self.type), count == 0)
            return (
                found if self.empty is None else pc.if_else(pa.array(count == 0), self.empty, found)
            )
        (total,) = totals
        if isinstance(self.type, IntegerType):
            total = total.astype(f"int{self.type.bits}")  # wraps around, as in Java
        empty = count == 0
        found = pa.array(total, to_arrow(self.type), mask=empty)
        return found if self.empty is None else found.fill_null(self.empty)

    def zero(self) -> SumState:
        return (Decimal(0) if isinstance(self.of, DecimalType) else 0, 0)

    def add(self, state: SumState, values: tuple[Any, ...]) -> SumState:
        (value,) = values
        return state if value is None else (self._plus(state[0], value), state[1] + 1)

    def retract(self, state: SumState, values: tuple[Any, ...]) -> SumState:
        (value,) = values
        return state if value is None else (self._plus(state[0], -value), state[1] - 1)

    def merge(self, state: SumState, other: SumState) -> SumState:
        return (self._plus(state[0], other[0]), state[1] + other[1])

    def result(self, state: SumState) -> Any:
        total, count = state
        return self.empty if count == 0 else fitted(total, self.type)

    def _plus(self, total: Any, value: Any) -> Any:
        if isinstance(self.of, DecimalType):
            return EXACT.add(total, value)
        if isinstance(self.of, FloatType):
            return as_float32(total + value)
        return total + value


@dataclass(frozen=True)
class Average(Sum):
    """The average of the values that are not NULL; for integers without the fraction."""

    def results(self, parts: Sequence[Any]) -> Any:
        import numpy as np
        import pyarrow as pa

        if isinstance(self.of, DecimalType):
            states = self.store([part.tolist() for part in parts])
            return pa.array(map(self.result, states), to_arrow(self.type))
        total, count = parts
        divisor = np.where(count == 0, 1, count)
        with np.errstate(all="ignore"):
            if isinstance(self.of, IntegerType):
                quotient = total // divisor
                quotient += (quotient < 0) & (quotient * divisor != total)  # towards zero
                found = quotient.astype(f"int{self.of.bits}")
            else:
                found = total / divisor
        return pa.array(found, to_arrow(self.type), mask=count == 0)

    def result(self, state: SumState) -> Any:
        total, count = state
        if count == 0:
            return None
        if isinstance(self.of, IntegerType):
            whole = wrapped(total, 64)
            quotient = abs(whole) // count
            return wrapped(-quotient if whole < 0 else quotient, self.of.bits)
        if isinstance(self.of, DecimalType):
            return fitted(EXACT.divide(total, Decimal(count)), self.type)
        return total / count

    def _plus(self, total: Any, value: Any) -> Any:
        return total + value if isinstance(self.of, FloatType) else super()._plus(total, value)


def _fits(totals: Sequence[int]) -> bool:
    return min(totals) >= -(1 << 63) and max(totals) < 1 << 63
