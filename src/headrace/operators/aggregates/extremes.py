"""Minimum and maximum of two values, in the order that Flink uses.

Values are compared as in Python, with two more rules, so that the result does not depend on the
order of records: NaN is greater than all numbers, and -0.0 is less than 0.0. This is the order of
Java's ``Double.compareTo``, which Flink uses.
"""

from __future__ import annotations

import math
from decimal import InvalidOperation
from numbers import Number
from typing import Any


def least(first: Any, second: Any) -> Any:
    """Return the lesser value; the first if both are equal."""
    try:
        if second < first:
            return second
        if first < second:
            return first
    except InvalidOperation:  # raised by a Decimal NaN, which is ranked below
        pass
    return second if _rank(second) < _rank(first) else first


def greatest(first: Any, second: Any) -> Any:
    """Return the greater value; the first if both are equal."""
    try:
        if second > first:
            return second
        if first > second:
            return first
    except InvalidOperation:  # raised by a Decimal NaN, which is ranked below
        pass
    return second if _rank(second) > _rank(first) else first


def _rank(value: Any) -> int:
    """Return the order of values that ``<`` does not order: -0.0 first, NaN last."""
    if value != value:
        return 1
    if value == 0 and isinstance(value, Number) and math.copysign(1.0, value) < 0:  # type: ignore[arg-type]
        return -1
    return 0
