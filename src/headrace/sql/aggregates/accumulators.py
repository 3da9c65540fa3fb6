"""How results over groups of rows are kept: exact, in Python, also where rows are taken back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, ClassVar

from headrace.operators.columns.accumulator import Accumulator
from headrace.operators.columns.vectors import Part, VectorAccumulator
from headrace.sql.types import (
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    SqlType,
    to_arrow,
)

_EXACT = Context(prec=100, rounding=ROUND_HALF_UP)
"""Sums of decimals have 38 digits; what does not fit becomes NULL at the end, as in Flink."""


@dataclass(frozen=True)
class Count(VectorAccumulator):
    """How many rows have no NULL among the arguments; of COUNT(*) all."""

    parts: ClassVar[tuple[Part, ...]] = ("count",)

    def load(self, states: Sequence[int]) -> tuple[Sequence[int]]:
        return (states,)

    def store(self, parts: Sequence[list[int]]) -> Iterable[int]:
        return parts[0]

    def results(self, parts: Sequence[Any]) -> Any:
        import pyarrow as pa

        return pa.array(parts[0], pa.int64())

    def zero(self) -> int:
        return 0

    def add(self, state: int, values: tuple[Any, ...]) -> int:
        return state + (None not in values)

    def retract(self, state: int, values: tuple[Any, ...]) -> int:
        return state - (None not in values)

    def merge(self, state: int, other: int) -> int:
        return state + other

    def result(self, state: int) -> int:
        return state


SumState = tuple[Any, int]
"""The sum, and how many values it is of."""


@dataclass(frozen=True)
class Sum(VectorAccumulator):
    """The sum of the values that are not NULL; NULL if there is none (``empty``: 0)."""

    of: SqlType
    type: SqlType
    empty: Any = None

    @property
    def parts(self) -> tuple[Part, ...]:
        """Sum and count, of integers and doubles."""
        return ("sum", "count") if isinstance(self.of, IntegerType | DoubleType) else ()

    def load(self, states: Sequence[SumState]) -> tuple[Sequence[Any], Sequence[int]]:
        totals, counts = zip(*states, strict=True)
        if isinstance(self.of, IntegerType) and not _fits(totals):
            totals = tuple(_wrapped(total, 64) for total in totals)
        return totals, counts

    def store(self, parts: Sequence[list[Any]]) -> Iterable[SumState]:
        return zip(*parts, strict=True)

    def results(self, parts: Sequence[Any]) -> Any:
        import pyarrow as pa

        total, count = parts
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
            return _EXACT.add(total, value)
        if isinstance(self.of, FloatType):
            return _as_float32(total + value)
        return total + value


@dataclass(frozen=True)
class Average(Sum):
    """The average of the values that are not NULL; of integers without what is after the point."""

    def results(self, parts: Sequence[Any]) -> Any:
        import numpy as np
        import pyarrow as pa

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
            wrapped = _wrapped(total, 64)
            quotient = abs(wrapped) // count
            return _wrapped(-quotient if wrapped < 0 else quotient, self.of.bits)
        if isinstance(self.of, DecimalType):
            return fitted(_EXACT.divide(total, Decimal(count)), self.type)
        return total / count

    def _plus(self, total: Any, value: Any) -> Any:
        return total + value if isinstance(self.of, FloatType) else super()._plus(total, value)


@dataclass(frozen=True)
class Extreme(VectorAccumulator):
    """The least or greatest value; values are never taken back."""

    greatest: bool
    of: SqlType

    @property
    def parts(self) -> tuple[Part, ...]:
        """The value and the count, of integers."""
        if not isinstance(self.of, IntegerType):
            return ()  # a NaN is greater than all other floats
        return ("max" if self.greatest else "min", "count")

    def load(self, states: Sequence[Any]) -> tuple[Sequence[Any], Sequence[int]]:
        return states, [state is not None for state in states]

    def store(self, parts: Sequence[list[Any]]) -> Iterable[Any]:
        values, counts = parts
        return [value if count else None for value, count in zip(values, counts, strict=True)]

    def results(self, parts: Sequence[Any]) -> Any:
        import pyarrow as pa

        value, count = parts
        kind = to_arrow(self.of)
        return pa.array(value.astype(kind.to_pandas_dtype()), kind, mask=count == 0)

    def zero(self) -> Any:
        return None

    def add(self, state: Any, values: tuple[Any, ...]) -> Any:
        (value,) = values
        if value is None or state is None:
            return state if value is None else value
        return value if (value > state if self.greatest else value < state) else state

    def retract(self, state: Any, values: tuple[Any, ...]) -> Any:
        raise AssertionError("an input that takes rows back has ExtremeOfValues")

    def merge(self, state: Any, other: Any) -> Any:
        return self.add(state, (other,))

    def result(self, state: Any) -> Any:
        return state


@dataclass(frozen=True)
class _Occurrences(Accumulator):
    """Keeps each value with the number of its occurrences, in the order of the first ones."""

    def zero(self) -> dict[Any, int]:
        return {}

    def add(self, state: dict[Any, int], values: tuple[Any, ...]) -> dict[Any, int]:
        (value,) = values
        if value is not None:
            count_change(state, counted(value), 1)
        return state

    def retract(self, state: dict[Any, int], values: tuple[Any, ...]) -> dict[Any, int]:
        (value,) = values
        if value is not None:
            count_change(state, counted(value), -1)
        return state

    def merge(self, state: dict[Any, int], other: dict[Any, int]) -> dict[Any, int]:
        for value, count in other.items():
            count_change(state, value, count)
        return state


@dataclass(frozen=True)
class ExtremeOfValues(_Occurrences):
    """The least or greatest value, of values that may be taken back."""

    greatest: bool

    def result(self, state: dict[Any, int]) -> Any:
        present = [value for value, count in state.items() if count > 0 and value != NAN]
        has_nan = state.get(NAN, 0) > 0
        if has_nan and (self.greatest or not present):
            return math.nan  # it is greater than all other values
        if not present:
            return None
        return max(present) if self.greatest else min(present)


@dataclass(frozen=True)
class Collect(_Occurrences):
    """A MULTISET of the values."""

    def result(self, state: dict[Any, int]) -> Any:
        return [
            (math.nan if value == NAN else value, count)
            for value, count in state.items()
            if count > 0
        ]


@dataclass(frozen=True)
class Distinct(Accumulator):
    """Gives an accumulator each value once, however often it occurs."""

    inner: Accumulator

    def zero(self) -> list[Any]:
        return [self.inner.zero(), {}]

    def add(self, state: list[Any], values: tuple[Any, ...]) -> list[Any]:
        if count_change(state[1], (*map(counted, values),), 1) == 1:
            state[0] = self.inner.add(state[0], values)
        return state

    def retract(self, state: list[Any], values: tuple[Any, ...]) -> list[Any]:
        if count_change(state[1], (*map(counted, values),), -1) == 0:
            state[0] = self.inner.retract(state[0], values)
        return state

    def merge(self, state: list[Any], other: list[Any]) -> list[Any]:
        for values, count in other[1].items():
            if count_change(state[1], values, count) == count:
                plain = tuple(math.nan if each == NAN else each for each in values)
                state[0] = self.inner.add(state[0], plain)
        return state

    def result(self, state: list[Any]) -> Any:
        return self.inner.result(state[0])


@dataclass(frozen=True)
class ListOfValues(Accumulator):
    """The values that are not NULL (``nulls``: all), in the order of their arrival."""

    nulls: bool = False

    def zero(self) -> list[Any]:
        return []

    def add(self, state: list[Any], values: tuple[Any, ...]) -> list[Any]:
        if values[0] is not None or self.nulls:
            state.append(values[0])
        return state

    def retract(self, state: list[Any], values: tuple[Any, ...]) -> list[Any]:
        if values[0] in state:
            state.remove(values[0])
        return state

    def merge(self, state: list[Any], other: list[Any]) -> list[Any]:
        return [*state, *other]

    def result(self, state: list[Any]) -> Any:
        return list(state) or None


@dataclass(frozen=True)
class JoinedText(ListOfValues):
    """The values as one text, with a separator between."""

    separator: str = ","

    def result(self, state: list[Any]) -> Any:
        return self.separator.join(state) if state else None


@dataclass(frozen=True)
class EndValue(ListOfValues):
    """The first or the last of the values that are not NULL, of values that may be taken back."""

    last: bool = False

    def result(self, state: list[Any]) -> Any:
        return (state[-1] if self.last else state[0]) if state else None


@dataclass(frozen=True)
class FirstOrLast(Accumulator):
    """The first or the last of the values that are not NULL; values are never taken back."""

    last: bool

    def zero(self) -> Any:
        return None

    def add(self, state: Any, values: tuple[Any, ...]) -> Any:
        (value,) = values
        return state if value is None or (state is not None and not self.last) else value

    def retract(self, state: Any, values: tuple[Any, ...]) -> Any:
        raise AssertionError("an input that takes rows back has EndValue")

    def merge(self, state: Any, other: Any) -> Any:
        return self.add(state, (other,))

    def result(self, state: Any) -> Any:
        return state


Moments = tuple[int, float, float]
"""The number of values, their sum, and that of their squares."""


@dataclass(frozen=True)
class Variance(Accumulator):
    """The variance of a population or a sample, or the standard deviation (``root``)."""

    sample: bool
    root: bool
    type: SqlType

    def zero(self) -> Any:
        return (0, 0, 0)

    def add(self, state: Any, values: tuple[Any, ...]) -> Any:
        (value,) = values
        return state if value is None else _moments(state, value, 1)

    def retract(self, state: Any, values: tuple[Any, ...]) -> Any:
        (value,) = values
        return state if value is None else _moments(state, value, -1)

    def merge(self, state: Any, other: Any) -> Any:
        return tuple(one + two for one, two in zip(state, other, strict=True))

    def result(self, state: Any) -> Any:
        count, total, squares = state
        divisor = count - 1 if self.sample else count
        if divisor <= 0:
            return None
        found = float(squares - total * total / count) / divisor
        found = math.sqrt(max(found, 0.0)) if self.root else found
        return converted(found, self.type)


def _moments(state: Any, value: Any, sign: int) -> Any:
    count, total, squares = state
    return count + sign, total + sign * value, squares + sign * value * value


NAN = ()
"""Stands for NaN among the values that are counted, as NaN is equal to nothing in Python."""


def counted(value: Any) -> Any:
    """Return what a value is counted as."""
    return NAN if value != value else value


def count_change(occurrences: dict[Any, int], value: Any, change: int) -> int:
    """Change how often a value occurs, and return the new number; 0 is not kept."""
    count = occurrences.get(value, 0) + change
    if count:
        occurrences[value] = count
    else:
        occurrences.pop(value, None)
    return count


def fitted(value: Any, kind: SqlType) -> Any:
    """Return a sum as a value of its type: integers wrap, decimals round, or are NULL."""
    if isinstance(kind, IntegerType):
        return _wrapped(value, kind.bits)
    if isinstance(kind, DecimalType):
        rounded = _EXACT.quantize(Decimal(value), Decimal(1).scaleb(-kind.scale))
        return rounded if len(rounded.as_tuple().digits) <= kind.precision else None
    return value


def converted(value: float, kind: SqlType) -> Any:
    """Return a float as a value of a numeric type."""
    if isinstance(kind, IntegerType):
        # As Java does: the nearest number of 32 or 64 bits, of which a shorter one takes the last.
        most = (1 << (max(kind.bits, 32) - 1)) - 1
        whole = 0 if math.isnan(value) else int(max(min(value, most), -most - 1))
        return _wrapped(whole, kind.bits)
    if isinstance(kind, DecimalType):
        return fitted(Decimal(repr(value)), kind)
    return _as_float32(value) if isinstance(kind, FloatType) else value


def _fits(totals: Sequence[int]) -> bool:
    return min(totals) >= -(1 << 63) and max(totals) < 1 << 63


def _wrapped(value: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return (value + half) % (1 << bits) - half


def _as_float32(value: float) -> float:
    import numpy as np

    return float(np.float32(value))
