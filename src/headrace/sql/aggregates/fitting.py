"""Results as values of their types."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from headrace.sql.types import DecimalType, FloatType, IntegerType, SqlType

EXACT = Context(prec=100, rounding=ROUND_HALF_UP)
"""Sums of decimals have 38 digits. A larger result becomes NULL at the end, as in Flink."""


def fitted(value: Any, kind: SqlType) -> Any:
    """Return a sum as a value of its type: integers wrap; decimals are rounded, or NULL if too
    large."""
    if isinstance(kind, IntegerType):
        return wrapped(value, kind.bits)
    if isinstance(kind, DecimalType):
        rounded = EXACT.quantize(Decimal(value), Decimal(1).scaleb(-kind.scale))
        return rounded if len(rounded.as_tuple().digits) <= kind.precision else None
    return value


def converted(value: float, kind: SqlType) -> Any:
    """Return a float as a value of a numeric type."""
    if isinstance(kind, IntegerType):
        # As in Java: the nearest integer of 32 or 64 bits; a shorter type takes its lowest bits.
        most = (1 << (max(kind.bits, 32) - 1)) - 1
        whole = 0 if math.isnan(value) else int(max(min(value, most), -most - 1))
        return wrapped(whole, kind.bits)
    if isinstance(kind, DecimalType):
        return fitted(Decimal(repr(value)), kind)
    return as_float32(value) if isinstance(kind, FloatType) else value


def wrapped(value: int, bits: int) -> int:
    """Return an integer as it is after an overflow in Java, with this many bits."""
    half = 1 << (bits - 1)
    return (value + half) % (1 << bits) - half


def as_float32(value: float) -> float:
    """Return the nearest float of 32 bits."""
    import numpy as np

    return float(np.float32(value))
