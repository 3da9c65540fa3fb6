"""Values that are easily changed on their way: numbers of numpy, NaN, signed zeros, row kinds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from headrace.common.types import Row, RowKind
from headrace.datastream.functions import ProcessWindowFunction

FLOATS = (1.5, -0.0, math.nan, 0.0, math.inf, -math.inf, -2.5)
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


def as_float(number: int) -> float:
    """The float for a number."""
    return FLOATS[number % len(FLOATS)]


def with_float(value: Any) -> Any:
    """A record with one of ``FLOATS`` in place of the number."""
    return value[0], as_float(value[1])


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


def of_text(line: str) -> Any:
    """A value from its ``repr``: of Python's and numpy's values, NaN and infinity among them."""
    floats = {name: float(name) for name in ("nan", "inf")}
    return eval(line, {"__builtins__": {}, "np": np, **floats})


def place(number: float) -> tuple[bool, float, float]:
    """Where a float stands among others: -0.0 before 0.0, and NaN last, as in Flink."""
    if math.isnan(number):
        return True, 0.0, 0.0
    return False, number, math.copysign(1.0, number)


def exact(value: Any) -> Any:
    """A number in a form that shows NaN, and the sign of a zero."""
    return float(value).hex() if isinstance(value, float) else value
