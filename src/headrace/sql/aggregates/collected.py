"""Results that need all values of a group: JSON texts, percentiles; and the value of a key."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from headrace.errors import SqlError
from headrace.operators.columns.accumulator import Accumulator
from headrace.sql.aggregates.accumulators import ListOfValues, count_change
from headrace.sql.functions.json_paths import RawJson, write


@dataclass(frozen=True)
class JsonObject(Accumulator):
    """An object of JSON, of keys and JSON texts; ``absent``: without the values that are NULL."""

    absent: bool = False

    def zero(self) -> dict[str, str | None]:
        return {}

    def add(self, state: dict[str, str | None], values: tuple[Any, ...]) -> dict[str, str | None]:
        key, value = values
        if key is None:
            raise SqlError("JSON_OBJECTAGG: a key is NULL", hint="leave such rows out by FILTER")
        if value is None and self.absent:
            return state
        if key in state:
            raise SqlError(f"JSON_OBJECTAGG: the key {key!r} occurs twice in a group")
        state[key] = value
        return state

    def retract(
        self, state: dict[str, str | None], values: tuple[Any, ...]
    ) -> dict[str, str | None]:
        state.pop(values[0], None)
        return state

    def merge(
        self, state: dict[str, str | None], other: dict[str, str | None]
    ) -> dict[str, str | None]:
        for values in other.items():
            state = self.add(state, values)
        return state

    def result(self, state: dict[str, str | None]) -> str:
        return write({key: _raw(state[key]) for key in sorted(state)})


@dataclass(frozen=True)
class JsonArray(ListOfValues):
    """An array of JSON, of JSON texts in the order of their arrival."""

    def result(self, state: list[Any]) -> str:
        return write([*map(_raw, state)])


def _raw(text: str | None) -> RawJson | None:
    return None if text is None else RawJson(text)


@dataclass(frozen=True)
class Percentile(Accumulator):
    """Values at shares of the sorted values, with what lies between by interpolation.

    ``many``: the result is an array, with one value for each share.
    """

    shares: tuple[float, ...]
    many: bool

    def zero(self) -> dict[float, int]:
        return {}

    def add(self, state: dict[float, int], values: tuple[Any, ...]) -> dict[float, int]:
        return self._counted(state, values, 1)

    def retract(self, state: dict[float, int], values: tuple[Any, ...]) -> dict[float, int]:
        return self._counted(state, values, -1)

    def _counted(
        self, state: dict[float, int], values: tuple[Any, ...], sign: int
    ) -> dict[float, int]:
        value, *frequency = values
        times = frequency[0] if frequency else 1
        if value is not None and times is not None and times > 0:
            count_change(state, float(value), sign * times)
        return state

    def merge(self, state: dict[float, int], other: dict[float, int]) -> dict[float, int]:
        for value, count in other.items():
            count_change(state, value, count)
        return state

    def result(self, state: dict[float, int]) -> Any:
        ordered = sorted(state.items())
        total = sum(state.values())
        if total <= 0:
            return None
        found = [_at(ordered, share * (total - 1)) for share in self.shares]
        return found if self.many else found[0]


def _at(ordered: list[tuple[float, int]], position: float) -> float:
    lower, higher = math.floor(position), math.ceil(position)
    low = high = None
    seen = 0
    for value, count in ordered:
        seen += count
        if low is None and seen > lower:
            low = value
        if seen > higher:
            high = value
            break
    assert low is not None and high is not None, "positions are inside"
    if low == high:
        return low
    # The steps are Flink's, which counts positions from 1: others round in another way.
    share = (position + 1) - (lower + 1)
    return (1 - share) * low + share * high


@dataclass(frozen=True)
class KeyValue(Accumulator):
    """The value of a key of the group: equal in all of its rows."""

    def zero(self) -> Any:
        return None

    def add(self, state: Any, values: tuple[Any, ...]) -> Any:
        return values[0] if state is None else state

    def retract(self, state: Any, values: tuple[Any, ...]) -> Any:
        return state

    def merge(self, state: Any, other: Any) -> Any:
        return other if state is None else state

    def result(self, state: Any) -> Any:
        return state
