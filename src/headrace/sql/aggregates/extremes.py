"""MIN and MAX without retractions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.operators.columns.parts import (
    COUNT,
    LONG_DIGITS,
    MAX,
    MIN,
    AccumulatorPart,
    ArgumentPart,
    from_ordered,
    ordered,
)
from headrace.operators.columns.vectors import VectorAccumulator
from headrace.sql.types import (
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    MonthIntervalType,
    SecondIntervalType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    TimeType,
    to_arrow,
)

_ORDERED = (
    IntegerType
    | FloatType
    | DoubleType
    | DateType
    | TimeType
    | TimestampType
    | TimestampLtzType
    | MonthIntervalType
    | SecondIntervalType
)


@dataclass(frozen=True)
class Extreme(VectorAccumulator):
    """The least or greatest value; values are never retracted."""

    greatest: bool
    of: SqlType

    @property
    def parts(self) -> tuple[AccumulatorPart, ...]:
        """The value and the count, for types that map to ordered integers of 64 bits."""
        if isinstance(self.of, DecimalType):
            is_ordered = self.of.precision <= LONG_DIGITS
        else:
            is_ordered = isinstance(self.of, _ORDERED)
        return (MAX if self.greatest else MIN, COUNT) if is_ordered else ()

    @property
    def _of_nan(self) -> int:
        return ArgumentPart(self.parts[0], None, None, is_float=True).neutral

    def load(self, states: Sequence[Any]) -> Sequence[Sequence[Any]]:
        import pyarrow as pa

        array = pa.array(states, to_arrow(self.of))
        values = ordered(array, self._of_nan).tolist()
        there = array.is_valid().to_pylist()
        return [value if any else None for value, any in zip(values, there, strict=True)], there

    def store(self, parts: Sequence[list[Any]]) -> Iterable[Any]:
        import numpy as np

        values, counts = (np.array(part, np.int64) for part in parts)
        found: list[Any] = self.results((values, counts)).to_pylist()
        return found

    def results(self, parts: Sequence[Any]) -> Any:
        value, count = parts
        return from_ordered(value, to_arrow(self.of), self._of_nan, count == 0)

    def zero(self) -> Any:
        return None

    def add(self, state: Any, values: tuple[Any, ...]) -> Any:
        (value,) = values
        if value is None or state is None:
            return state if value is None else value
        return value if (value > state if self.greatest else value < state) else state

    def retract(self, state: Any, values: tuple[Any, ...]) -> Any:
        raise AssertionError("an input with retractions has ExtremeOfValues")

    def merge(self, state: Any, other: Any) -> Any:
        return self.add(state, (other,))

    def result(self, state: Any) -> Any:
        return state
