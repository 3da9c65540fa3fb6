"""Accumulators of groups of rows: exact, in Python, also with retractions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from headrace.operators.columns.accumulator import Accumulator
from headrace.operators.columns.parts import COUNT, AccumulatorPart
from headrace.operators.columns.vectors import VectorAccumulator
from headrace.sql.aggregates.fitting import converted
from headrace.sql.types import (
    SqlType,
)


@dataclass(frozen=True)
class Count(VectorAccumulator):
    """How many rows have no NULL among the arguments; of COUNT(*) all."""

    parts: ClassVar[tuple[AccumulatorPart, ...]] = (COUNT,)

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
    """The least or greatest value; values may be retracted."""

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
class CollectWithParts(Accumulator):
    """A MULTISET of arrays, maps or rows. Each is stored after a text that is its key."""

    def zero(self) -> dict[str, tuple[Any, int]]:
        return {}

    def add(
        self, state: dict[str, tuple[Any, int]], values: tuple[Any, ...]
    ) -> dict[str, tuple[Any, int]]:
        key, value = values
        return self._counted(state, key, value, 1)

    def retract(
        self, state: dict[str, tuple[Any, int]], values: tuple[Any, ...]
    ) -> dict[str, tuple[Any, int]]:
        key, value = values
        return self._counted(state, key, value, -1)

    def merge(
        self, state: dict[str, tuple[Any, int]], other: dict[str, tuple[Any, int]]
    ) -> dict[str, tuple[Any, int]]:
        for key, (value, count) in other.items():
            state = self._counted(state, key, value, count)
        return state

    def _counted(
        self, state: dict[str, tuple[Any, int]], key: str | None, value: Any, change: int
    ) -> dict[str, tuple[Any, int]]:
        if key is None:
            return state
        first, count = state.get(key, (value, 0))
        if count + change:
            state[key] = first, count + change
        else:
            del state[key]
        return state

    def result(self, state: dict[str, tuple[Any, int]]) -> Any:
        return [(value, count) for value, count in state.values() if count > 0]


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

    def watched(self, state: list[Any]) -> Any:
        """Return the watched values of the inner accumulator."""
        return self.inner.watched(state[0])


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
    """The first or the last of the values that are not NULL; values may be retracted."""

    last: bool = False

    def result(self, state: list[Any]) -> Any:
        return (state[-1] if self.last else state[0]) if state else None


@dataclass(frozen=True)
class FirstOrLast(Accumulator):
    """The first or the last of the values that are not NULL; values are never retracted."""

    last: bool

    def zero(self) -> Any:
        return None

    def add(self, state: Any, values: tuple[Any, ...]) -> Any:
        (value,) = values
        return state if value is None or (state is not None and not self.last) else value

    def retract(self, state: Any, values: tuple[Any, ...]) -> Any:
        raise AssertionError("an input with retractions has EndValue")

    def merge(self, state: Any, other: Any) -> Any:
        return self.add(state, (other,))

    def result(self, state: Any) -> Any:
        return state


@dataclass(frozen=True)
class Variance(Accumulator):
    """The variance of a population or a sample, or the standard deviation (``root``).

    By Welford's algorithm, with the steps of Flink, so that results have the same last digits. A
    state is the number of values, their mean, and the sum of the squares of the differences to it.
    """

    sample: bool
    root: bool
    type: SqlType

    def zero(self) -> Any:
        return (0, 0.0, 0.0)

    def add(self, state: Any, values: tuple[Any, ...]) -> Any:
        (value,) = values
        if value is None:
            return state
        count, mean, squares = state
        number = float(value)
        difference = number - mean
        mean += difference / (count + 1)
        return count + 1, mean, squares + difference * (number - mean)

    def retract(self, state: Any, values: tuple[Any, ...]) -> Any:
        (value,) = values
        if value is None:
            return state
        count, mean, squares = state
        if count <= 1:
            return self.zero()
        number = float(value)
        difference = number - mean
        mean -= difference / (count - 1)
        return count - 1, mean, squares - difference * (number - mean)

    def merge(self, state: Any, other: Any) -> Any:
        (count, mean, squares), (more, other_mean, other_squares) = state, other
        if not count or not more:
            return state if count else other
        both, difference = count + more, other_mean - mean
        squares += other_squares + difference * difference * count * more / both
        return both, mean + difference * more / both, squares

    def result(self, state: Any) -> Any:
        count, _, squares = state
        divisor = count - 1 if self.sample else count
        if divisor <= 0:
            return None
        found = squares / divisor
        found = math.sqrt(max(found, 0.0)) if self.root else found
        return converted(found, self.type)

    def watched(self, state: Any) -> Any:
        """Return what Flink computes the result from, and so gives an update for."""
        count, _, squares = state
        return count, squares


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
