"""Numbers of one Arrow type as another, as Java converts them."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from headrace.errors import SqlError
from headrace.sql.functions.kernels import cast_arrow, is_scalar, map_values
from headrace.sql.functions.text_formats import fit_decimal, java_double
from headrace.sql.types import DecimalType, to_arrow

_SMALL_DIGITS = 18
"""So many digits fit an int64."""

_EXACT_DIGITS = 15
"""A whole number with this many digits, and 10 to this power, are exact as DOUBLE."""


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
    import pyarrow as pa

    numbers, mask = _unscaled(array)
    return pa.array(numbers / 10.0**array.type.scale, pa.float64(), mask=mask)


def _is_small(kind: Any) -> bool:
    """Return whether the digits of a decimal type are those of an int64."""
    import pyarrow as pa

    return bool(pa.types.is_decimal128(kind) and kind.precision <= _SMALL_DIGITS)


def _unscaled(array: Any) -> tuple[Any, Any]:
    """Return the int64 numbers of small decimals without their point, and where they are NULL."""
    import numpy as np

    if len(array) == 0:
        return np.array([], np.int64), None
    words = np.frombuffer(array.buffers()[1], np.int64)
    numbers = words[2 * array.offset : 2 * (array.offset + len(array)) : 2]
    mask = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    return numbers, mask


def _scaled(numbers: Any, mask: Any, kind: Any) -> Any:
    """Return int64 numbers as decimals of a type."""
    import numpy as np
    import pyarrow as pa

    words = np.empty(2 * len(numbers), np.int64)
    words[::2] = numbers
    words[1::2] = numbers >> 63
    bits = None if mask is None else pa.array(~mask).buffers()[1]
    return pa.Array.from_buffers(kind, len(numbers), [bits, pa.py_buffer(words)])


def _rescale_small(array: Any, kind: Any) -> Any:
    """Return small decimals with another scale, rounded half up; NULL where too large."""
    import numpy as np

    numbers, mask = _unscaled(array)
    if mask is not None:
        numbers = np.where(mask, 0, numbers)
    shift = kind.scale - array.type.scale
    limit = 10**kind.precision
    if shift >= 0:
        factor = 10**shift
        too_large = np.abs(numbers) >= (limit + factor - 1) // factor
        rescaled = np.where(too_large, 0, numbers) * factor
    else:
        divisor = 10**-shift
        size = (np.abs(numbers) + divisor // 2) // divisor
        too_large = size >= limit
        rescaled = np.where(numbers < 0, -size, size)
    if too_large.any():
        mask = too_large if mask is None else mask | too_large
    return _scaled(rescaled, mask, kind)


def round_doubles(array: Any, digits: int) -> Any:
    """Return DOUBLEs as whole numbers of ``10 ** -digits`` (float64), half up.

    What is rounded is the shortest decimal of a number, as in Java; NaN where it could be another
    one than that of the number itself.
    """
    import numpy as np

    numbers = array.to_numpy(zero_copy_only=False)
    with np.errstate(all="ignore"):
        scaled = numbers * 10.0**digits
        size = np.abs(scaled)
        whole = np.floor(size + 0.5)
        # Where the scaled number is close to a half, its own error decides: not here.
        unclear = (np.abs(size - np.floor(size) - 0.5) < 1e-6) | ~(size < 1e9)
        return np.where(unclear, np.nan, np.copysign(whole, scaled))


def no_decimal(number: float) -> SqlError:
    """Return the error for NaN or an infinity that should be a decimal number."""
    return SqlError(f"{java_double(number)} is not a decimal number")


def to_decimal(
    value: Any, target: DecimalType, *, single: bool = False, strict: bool = False
) -> Any:
    """Return numbers as a DECIMAL, rounded half up; NULL where there are too many digits.

    ``strict``: NaN and infinities raise; else they are NULL.
    """
    import pyarrow as pa

    precision, scale, kind = target.precision, target.scale, to_arrow(target)
    if pa.types.is_floating(value.type):

        def from_float(number: float) -> Decimal | None:
            if not math.isfinite(number):
                if strict:
                    raise no_decimal(number)
                return None
            return fit_decimal(Decimal(java_double(number, single)), precision, scale)

        if not is_scalar(value) and precision <= _SMALL_DIGITS and not single:
            return _doubles_to_decimal(value, kind, from_float)
        return map_values(from_float, [value], kind)
    if pa.types.is_integer(value.type):
        digits = {8: 3, 16: 5, 32: 10, 64: 19}[value.type.bit_width]
        value = cast_arrow(value, pa.decimal128(digits, 0))
    return rescale(value, target)


def _doubles_to_decimal(array: Any, kind: Any, exactly: Callable[[float], Any]) -> Any:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = round_doubles(array, kind.scale)
    clear = np.abs(whole) < min(10.0**kind.precision, 1e15)
    found = _scaled(np.where(clear, whole, 0).astype(np.int64), None, kind)
    mask = pa.array(clear)
    if clear.all():
        return found
    rest = map_values(exactly, [array.filter(pc.invert(mask))], kind)
    return pc.replace_with_mask(found, pc.invert(mask), rest)


def rescale(value: Any, target: DecimalType) -> Any:
    """Return decimals with another precision and scale, rounded half up; NULL where too large."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind, source = to_arrow(target), value.type
    if source == kind:
        return value
    if _is_small(source) and _is_small(kind) and not is_scalar(value):
        return _rescale_small(value, kind)
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


def divide_integers(one: Any, two: Any) -> Any:
    """Return the quotients of integers, cut off; the least number by -1 wraps."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(two, pa.Scalar) and two.as_py() not in (None, 0, -1):
        return pc.divide(one, two)
    check_divisor(one, two)
    usual = pc.if_else(pc.equal(two, pa.scalar(-1, two.type)), pa.scalar(1, two.type), two)
    usual = pc.if_else(pc.equal(usual, pa.scalar(0, two.type)), pa.scalar(None, two.type), usual)
    quotient = pc.divide(one, usual)
    minus = pc.equal(two, pa.scalar(-1, two.type))
    return pc.if_else(minus, pc.negate(one), quotient)


def check_divisor(one: Any, two: Any) -> None:
    """Raise if a number is divided by zero; NULL is not."""
    import pyarrow as pa
    import pyarrow.compute as pc

    zero = pc.and_(pc.equal(two, pa.scalar(0, two.type)), pc.is_valid(one))
    if pc.any(zero).as_py():
        raise SqlError("/ by zero", hint="NULLIF(divisor, 0) gives NULL instead")
