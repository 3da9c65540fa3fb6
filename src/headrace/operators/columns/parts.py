"""The numbers of which accumulators consist, and what each row contributes to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1

LIMB_BITS = 32
_LIMB = (1 << LIMB_BITS) - 1
LONG_DIGITS = 18
"""A decimal with this many digits fits into 64 bits."""


@dataclass(frozen=True)
class AccumulatorPart:
    """One number per key, computed from the rows, or from an argument's values that are not NULL.

    A ``limb`` is the sum of 32 bits of each decimal: of ``places`` limbs the one at ``place``, from
    the lowest. The highest limb has the sign.
    """

    kind: Literal["count", "sum", "min", "max", "limb"]
    place: int = 0
    places: int = 0


COUNT, SUM, MIN, MAX = (
    AccumulatorPart("count"),
    AccumulatorPart("sum"),
    AccumulatorPart("min"),
    AccumulatorPart("max"),
)


def limbs_of(precision: int) -> tuple[AccumulatorPart, ...]:
    """Return the parts that together are the exact sum of decimals with a precision."""
    places = 2 if precision <= LONG_DIGITS else 4
    return tuple(AccumulatorPart("limb", place, places) for place in range(places))


@dataclass(frozen=True)
class ArgumentPart:
    """A part for one argument; ``is_float``: whether the argument's Arrow type is a float."""

    part: AccumulatorPart
    argument: str | None
    filter: str | None
    is_float: bool

    @property
    def kind(self) -> str:
        """The kind of the part."""
        return self.part.kind

    @property
    def sums_floats(self) -> bool:
        """Whether the part is a float; all other parts are integers."""
        return self.is_float and self.kind == "sum"

    @property
    def neutral(self) -> int:
        """The contribution that changes nothing. As a minimum or maximum of rows it represents
        NaN."""
        return {"min": _GREATEST, "max": _LEAST}.get(self.kind, 0)

    def contribution(self, batch: Any, sign: Array, mask: Array | None) -> Array:
        """Return what each row contributes. ``sign``: -1 for retracted rows; ``mask``: which rows
        count; None: all."""
        import numpy as np

        if self.kind == "count":
            return sign if mask is None else np.where(mask, sign, 0)
        column = batch.column(self.argument)
        match self.kind:
            case "limb":
                values = _limb(column, self.part) * sign
            case "sum" if self.is_float:
                values = _numbers(column, np.float64)
            case "sum":
                values = _numbers(column, np.int64) * sign
            case _:
                values = ordered(column, self.neutral)
        return values if mask is None else np.where(mask, values, self.neutral)


def _numbers(column: Any, kind: Any) -> Array:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count:
        column = pc.fill_null(column, 0)
    found: Array = column.cast(pa.from_numpy_dtype(np.dtype(kind))).to_numpy(zero_copy_only=False)
    return found


def ordered(column: Any, of_nan: int) -> Array:
    """Map values to integers with the same order. NULL becomes any number, NaN becomes
    ``of_nan``."""
    import numpy as np
    import pyarrow as pa

    kind = column.type
    if pa.types.is_decimal(kind):
        return _words(column)[:, 0]
    if pa.types.is_floating(kind):
        values = _numbers(column, np.float64)
        found = _order_of_bits(values.view(np.int64))
        nan = np.isnan(values)
        return np.where(nan, of_nan, found) if nan.any() else found
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        column = column.cast(pa.int32())
    elif not pa.types.is_integer(kind):
        column = column.cast(pa.int64())
    return _numbers(column, np.int64)


def from_ordered(values: Array, kind: Any, of_nan: int, missing: Array | None = None) -> Any:
    """Map integers of ``ordered`` back to an Arrow array of values; NULL where ``missing``."""
    import numpy as np
    import pyarrow as pa

    if pa.types.is_decimal(kind):
        return decimals(values, values >> 63, kind, missing)
    if pa.types.is_floating(kind):
        floats = _order_of_bits(values).view(np.float64)
        floats = np.where(values == of_nan, np.nan, floats)
        return pa.array(floats, pa.float64(), mask=missing).cast(kind)
    if kind.bit_width < 64:
        values = values.astype(f"int{kind.bit_width}")  # NULL is some number here, too
    return pa.array(values, mask=missing).cast(kind)


def _order_of_bits(bits: Array) -> Array:
    """Map the bits of floats to integers with the floats' order; it is its own inverse."""
    found: Array = bits ^ ((bits >> 63) & _GREATEST)
    return found


def _words(column: Any) -> Array:
    """Return the two words of 64 bits of each decimal, the lower one first."""
    import numpy as np

    start = 2 * column.offset
    data: Array = np.frombuffer(column.buffers()[1], "<i8") if len(column) else np.empty(0, "<i8")
    found: Array = data[start : start + 2 * len(column)].reshape(len(column), 2)
    return found


def _limb(column: Any, part: AccumulatorPart) -> Array:
    word = _words(column)[:, part.place // 2]
    found: Array = word >> LIMB_BITS if part.place % 2 else word & _LIMB
    if part.place % 2 and part.place < part.places - 1:
        found = found & _LIMB
    return found


def sums_of_limbs(limbs: list[Array], kind: Any, missing: Array) -> Any:
    """Return sums of limbs as an Arrow array of decimals; NULL if a sum has too many digits, or
    where ``missing``."""
    if len(limbs) == 4:
        bits = [*limbs]
    else:
        low, high = limbs
        bits = [low, high & _LIMB, high >> LIMB_BITS, 0 * low]
    carry: Any = 0
    for place in range(3):
        total = bits[place] + carry
        bits[place], carry = total & _LIMB, total >> LIMB_BITS
    bits[3] = bits[3] + carry
    low = bits[0] | (bits[1] << LIMB_BITS)
    high = bits[2] | (bits[3] << LIMB_BITS)
    overflown = (bits[3] >> 31) != (bits[3] >> 63)
    overflown |= _is_beyond(low, high, 10**kind.precision)
    return decimals(low, high, kind, missing | overflown)


def _is_beyond(low: Array, high: Array, bound: int) -> Array:
    """Return which numbers of two words have an absolute value of at least a bound."""
    import numpy as np

    def words(value: int) -> tuple[int, int]:
        return value & ((1 << 64) - 1), value >> 64

    unsigned = low.view(np.uint64)
    (above_low, above), (below_low, below) = words(bound), words(-bound)
    found: Array = (high > above) | ((high == above) & (unsigned >= np.uint64(above_low)))
    found |= (high < below) | ((high == below) & (unsigned <= np.uint64(below_low)))
    return found


def decimals(low: Array, high: Array, kind: Any, missing: Array | None) -> Any:
    """Return an Arrow array of decimals of two words of 64 bits each."""
    import numpy as np
    import pyarrow as pa

    words = np.stack([low, high], axis=1)
    valid = None if missing is None else pa.array(~missing).buffers()[1]
    return pa.Array.from_buffers(kind, len(low), [valid, pa.py_buffer(words)])
