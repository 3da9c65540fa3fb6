"""Which Arrow types give what Python gives, and where arithmetic over arrays is exact.

All that computes over columns asks here. The rules: values that are equal in Arrow must be equal in
Python (keys); numbers must be 64-bit integers or floats, and no sum of integers may leave 64 bits;
what is compared has neither NaN nor -0.0. What does not keep them is computed row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from headrace.runtime.columns.shapes import python_values

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

AggregateKind = Literal["count", "sum", "min", "max"]
"""An aggregate function, by the name that Arrow has for it."""

MAX_INT64 = (1 << 63) - 1
"""The greatest signed integer of 64 bits."""

MISFITS = (TypeError, ValueError, OverflowError, ArithmeticError, NotImplementedError)
"""What Arrow and numpy raise for a value that does not fit a column, or for a type that they cannot
make of Python's values, as unions."""


def compares_like_python(kind: Any) -> bool:
    """Return whether Arrow compares values of an Arrow type as Python does."""
    from pyarrow import types

    return any(
        is_of_kind(kind)
        for is_of_kind in (
            types.is_integer,
            types.is_boolean,
            types.is_string,
            types.is_large_string,
            types.is_binary,
            types.is_large_binary,
            types.is_date32,
        )
    )


def have_exact_keys(schema: Any, names: Sequence[str]) -> bool:
    """Return whether the key columns exist, and Arrow compares their values as Python does."""
    from pyarrow import types

    for name in names:
        at = schema.get_field_index(name)
        if at < 0:
            return False
        kind = schema.field(at).type
        if not compares_like_python(kind.value_type if types.is_dictionary(kind) else kind):
            return False
    return True


def widen_type(kind: Any) -> Any | None:
    """Return the 64-bit type that has all numbers of an Arrow type; None if there is none."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_integer(kind) and not types.is_uint64(kind):
        return pa.int64()
    return pa.float64() if types.is_float64(kind) or types.is_float32(kind) else None


def to_foldable_numbers(column: Any, kind: AggregateKind) -> Array | None:
    """Return a column as 64-bit numbers for numpy's ``accumulate``; None if that is not exact.

    Sums of integers may still leave 64 bits: see ``sums_fit``.
    """
    wide = widen_type(column.type)
    if wide is None or column.null_count:
        return None
    found: Array = column.to_numpy(zero_copy_only=False)
    # Arrow's cast costs more, also where there is nothing to do.
    found = found.astype(wide.to_pandas_dtype(), copy=False)
    return found if kind == "sum" or found.dtype.kind == "i" or _is_ordered(found) else None


class GroupedColumn(NamedTuple):
    """A column that Arrow computes by group; no sum's absolute value is above ``max_abs_sum``."""

    column: Any
    max_abs_sum: int


def to_groupable_column(column: Any, kind: AggregateKind) -> GroupedColumn | None:
    """Return a column for Arrow's aggregation by group, without nulls; None if it is not exact."""
    from pyarrow import types

    dtype, wide = column.type, widen_type(column.type)
    if kind == "count":
        return GroupedColumn(column, 0)
    if wide is None:
        ordered = types.is_string(dtype) or types.is_date32(dtype) or types.is_timestamp(dtype)
        return GroupedColumn(column, 0) if kind != "sum" and ordered else None
    column = column.cast(wide)
    if types.is_integer(wide):
        max_abs_sum = max_abs(column) * len(column) if kind == "sum" else 0
        return GroupedColumn(column, max_abs_sum) if max_abs_sum <= MAX_INT64 else None
    values = column.drop_null().to_numpy()
    # Arrow leaves NaN out of extremes, takes either zero for the least, and adds up from 0.0.
    fits = not _has_negative_zero(values) if kind == "sum" else _is_ordered(values)
    return GroupedColumn(column, 0) if fits else None


def max_abs(column: Any) -> int:
    """Return the greatest absolute value in a column of integers; 0 for other types."""
    import pyarrow.compute as pc
    from pyarrow import types

    if not types.is_integer(column.type):
        return 0
    ends = pc.min_max(column)
    least, greatest = (int(ends[name].as_py() or 0) for name in ("min", "max"))
    return max(abs(least), abs(greatest))


def sums_fit(values: Array, result_count: int, most_added: int) -> bool:
    """Return whether all sums fit 64 bits.

    A sum has one of the first ``result_count`` values, and at most ``most_added`` of the others.
    """
    results, added = values[:result_count], values[result_count:]
    return _max_abs(results) + _max_abs(added) * most_added <= MAX_INT64


def to_exact_array(values: Sequence[Any], kind: Any) -> Any | None:
    """Return an Arrow array that converts back to equal values and types; None if impossible."""
    import pyarrow as pa
    from pyarrow import types

    try:
        array = pa.array(values, kind)
    except MISFITS:
        return None
    found = {*map(type, values)} - {type(None)}
    same = (
        (types.is_integer(kind) and found <= {int})
        or (types.is_float64(kind) and found <= {float})
        or ((types.is_string(kind) or types.is_large_string(kind)) and found <= {str})
        or [*map(repr, values)] == [*map(repr, python_values(array))]
    )
    return array if same else None


def _is_ordered(values: Array) -> bool:
    """Return whether equal floats (64 bits) are the same, and any two can be compared."""
    import numpy as np

    return not (np.isnan(values).any() or _has_negative_zero(values))


def _has_negative_zero(values: Array) -> bool:
    """Return whether one of some floats (64 bits) is -0.0."""
    import numpy as np

    lowest = np.iinfo(np.int64).min  # -0.0 is the sign bit alone
    return bool(len(values)) and bool(values.view(np.int64).min() == lowest)


def _max_abs(values: Array) -> int:
    return max(-int(values.min()), int(values.max())) if len(values) else 0
