"""Numbers of one Arrow type as another, as Java converts them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from headrace.sql.functions.kernels import cast_arrow, is_scalar, map_values
from headrace.sql.functions.text_formats import fit_decimal, java_double
from headrace.sql.types import DecimalType, to_arrow

_EXACT_DIGITS = 15
"""A whole number of so many digits, and 10 to this power, are exact as DOUBLE."""


def to_integer(value: Any, kind: Any) -> Any:
    """Return numbers as integers: cut off, wrapped (exact ones), at most the greatest (DOUBLE)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_integer(value.type):
        return cast_arrow(value, kind)
    if pa.types.is_decimal(value.type):
        return _decimal_to_integer(value, kind)
    value = cast_arrow(value, pa.float64())
    wide = pa.int64() if kind == pa.int64() else pa.int32()
    bits = wide.bit_width
    low, high = -(2.0 ** (bits - 1)), 2.0 ** (bits - 1)
    value = pc.if_else(pc.is_nan(value), 0.0, pc.trunc(value))
    inside = pc.and_(pc.greater_equal(value, low), pc.less(value, high))
    limit = pc.if_else(
        pc.greater(value, 0.0),
        pa.scalar(2 ** (bits - 1) - 1, wide),
        pa.scalar(-(2 ** (bits - 1)), wide),
    )
    number = cast_arrow(pc.if_else(inside, value, 0.0), wide)
    return cast_arrow(pc.if_else(inside, number, limit), kind)


def _decimal_to_integer(value: Any, kind: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if value.type.precision - value.type.scale <= 18:
        whole = cast_arrow(pc.trunc(value), pa.int64())
        return cast_arrow(whole, kind)
    bits = kind.bit_width

    def wrap(number: Decimal) -> int:
        half = 1 << int(bits) - 1
        return (int(number) + half) % (2 * half) - half

    return map_values(wrap, [value], kind)


def to_double(value: Any) -> Any:
    """Return numbers as floating-point ones; decimals as the nearest."""
    import pyarrow as pa

    if pa.types.is_floating(value.type):
        return value
    if not pa.types.is_decimal(value.type):
        return cast_arrow(value, pa.float64())
    if value.type.precision > _EXACT_DIGITS or is_scalar(value):
        return map_values(float, [value], pa.float64())
    return _small_decimal_to_double(value)


def _small_decimal_to_double(array: Any) -> Any:
    import numpy as np
    import pyarrow as pa

    if len(array) == 0:
        return pa.array([], pa.float64())
    words = np.frombuffer(array.buffers()[1], np.int64)
    unscaled = words[2 * array.offset : 2 * (array.offset + len(array)) : 2]
    numbers = unscaled / 10.0**array.type.scale
    mask = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    return pa.array(numbers, pa.float64(), mask=mask)


def to_decimal(value: Any, target: DecimalType, *, single: bool = False) -> Any:
    """Return numbers as a DECIMAL, rounded half up; NULL where there are too many digits."""
    import pyarrow as pa

    precision, scale, kind = target.precision, target.scale, to_arrow(target)
    if pa.types.is_floating(value.type):

        def from_float(number: float) -> Decimal | None:
            if number != number or number in (float("inf"), float("-inf")):
                return None
            return fit_decimal(Decimal(java_double(number, single)), precision, scale)

        return map_values(from_float, [value], kind)
    if pa.types.is_integer(value.type):
        digits = {8: 3, 16: 5, 32: 10, 64: 19}[value.type.bit_width]
        value = cast_arrow(value, pa.decimal128(digits, 0))
    return rescale(value, target)


def rescale(value: Any, target: DecimalType) -> Any:
    """Return decimals with another precision and scale, rounded half up; NULL where too large."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind, source = to_arrow(target), value.type
    if source == kind:
        return value
    whole = source.precision - source.scale
    if target.scale >= source.scale and target.precision - target.scale >= whole:
        return pc.cast(value, kind)
    wide = pa.decimal256(min(76, whole + 2 + max(source.scale, target.scale)), source.scale)
    value = pc.cast(value, wide)
    if target.scale < source.scale:
        value = pc.round(value, target.scale, round_mode="half_towards_infinity")
    limit = Decimal(10) ** (target.precision - target.scale)
    if target.precision - target.scale <= whole:
        bound = pa.scalar(limit, pa.decimal256(wide.precision, wide.scale))
        fits = pc.less(pc.abs(value), bound)
        value = pc.if_else(fits, value, pa.scalar(None, value.type))
    return pc.cast(value, kind)
