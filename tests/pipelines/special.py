"""Values that are easily changed on their way: numbers of numpy, NaN, signed zeros, row kinds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from headrace.common.types import Row, RowKind
from headrace.datastream.functions import MapFunction, ProcessWindowFunction

FLOATS = (1.5, -0.0, math.nan, 0.0, math.inf, -math.inf, -2.5)
ENDS = tuple(number for number in FLOATS if not math.isnan(number) and number)
"""Of these no two are equal, and each is before or after each other one."""

KINDS = (*RowKind,)


def of_python(key: int) -> Any:
    """A key as it is."""
    return key


def as_bool(key: int) -> Any:
    """The bool that is equal to a key; the key where there is none."""
    return bool(key) if key in (0, 1) else key


def as_numpy_bool(key: int) -> Any:
    """The same of numpy."""
    return np.bool_(key) if key in (0, 1) else key


FORMS = (of_python, np.int64, as_bool, as_numpy_bool, np.int32)
"""In each of these forms a key is the same key."""


class AsFloat(MapFunction):
    """One of some floats in place of the number."""

    def __init__(self, floats: tuple[float, ...]) -> None:
        self.floats = floats

    def map(self, value: Any) -> Any:
        return value[0], self.of(value[1])

    def of(self, number: int) -> float:
        """The float for a number."""
        return self.floats[number % len(self.floats)]


class Each(ProcessWindowFunction[Any, Any, Any, Any]):
    """The records of a window as they came."""

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        yield from elements


def with_kind(value: Any) -> Row:
    """A record as a row, whose kind follows from the number."""
    return Row.of_kind(KINDS[value[1] % len(KINDS)], *value)


def of_kind(row: Row) -> Any:
    """A record again; its number says the kind that the row had."""
    return row[0], row[1] * len(KINDS) + row.get_row_kind().value


def modelled_kind(number: int) -> int:
    """The number of ``of_kind`` for that of a record."""
    return number * len(KINDS) + number % len(KINDS)


def exact(value: Any) -> Any:
    """A number in a form that tells NaN, and the sign of a zero."""
    return float(value).hex() if isinstance(value, float) else value
