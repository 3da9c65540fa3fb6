"""The lesser and the greater of two values, as ``min`` and ``max`` of a field choose.

Values are compared as Python does, with two rules more, so that the order of the records does not
matter: NaN is greater than all numbers, and -0.0 is less than 0.0. That is ``Double.compareTo``,
by which Flink compares.
"""

from __future__ import annotations

import math
from decimal import InvalidOperation
from numbers import Number
from typing import Any


def least(first: Any, second: Any) -> Any:
    """The lesser; the first of equals."""
    try:
        if second < first:
            return second
        if first < second:
            return first
    except InvalidOperation:  # raised by a Decimal NaN, which has its place below
        pass
    return second if _rank(second) < _rank(first) else first


def greatest(first: Any, second: Any) -> Any:
    """The greater; the first of equals."""
    try:
        if second > first:
            return second
        if first > second:
            return first
    except InvalidOperation:  # raised by a Decimal NaN, which has its place below
        pass
    return second if _rank(second) > _rank(first) else first


def _rank(value: Any) -> int:
    """The place of a value among those that it is neither less nor greater than.

    These are its equals; and all other values, where it is NaN.
    """
    if value != value:
        return 1
    if value == 0 and isinstance(value, Number) and math.copysign(1.0, value) < 0:  # type: ignore[arg-type]
        return -1
    return 0
