"""Sums, least and greatest values of a field by key, computed on arrays.

The results are those that ``FieldAggregation`` and ``RecordSelection`` give for one record after
another, bit for bit: numbers of a key are added in their order. What arrays cannot give equally
(sums beyond 64 bits, nulls, NaN and -0.0 where values are compared) is not computed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from headrace.runtime.columns.shapes import Dicts, NamedRows, Tuples

if TYPE_CHECKING:
    import numpy as np

    from headrace.runtime.columns.batch import Columns

    Array = np.ndarray[Any, Any]

_BEYOND = 1 << 63


@dataclass(frozen=True)
class FieldFold:
    """A reduction that columns can do: the sum, the least or the greatest value of a field.

    ``field``: its position or name. ``whole``: the result is the record that has the value, else it
    is the key's first record with the value in its field.
    """

    field: int | str
    operation: Literal["sum", "min", "max"]
    whole: bool = False

    def column_in(self, columns: Columns) -> int | None:
        """The number of the field's column; None where the records must be asked."""
        names, shape, field = columns.batch.schema.names, columns.shape, self.field
        if columns.kinds is not None or len(set(names)) < len(names):
            return None
        if isinstance(field, str):
            named = isinstance(shape, Dicts | NamedRows)
            return names.index(field) if named and field in names else None
        numbered = isinstance(shape, NamedRows | Tuples) and 0 <= field < len(names)
        return field if numbered else None

    def numbers(self, column: Any) -> Array | None:
        """An Arrow column as 64-bit numbers to fold; None: they must be folded as records."""
        import numpy as np
        from pyarrow import types

        if column.null_count:
            return None
        if types.is_integer(column.type) and not types.is_uint64(column.type):
            whole: Array = column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
            return whole
        if not (types.is_float64(column.type) or types.is_float32(column.type)):
            return None
        found: Array = column.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
        return found if self.operation == "sum" or is_ordered(found) else None


def is_ordered(values: Array) -> bool:
    """Whether equal floats (64 bits) are the same, and any two can be compared."""
    import numpy as np

    return not (np.isnan(values).any() or has_negative_zero(values))


def has_negative_zero(values: Array) -> bool:
    """Whether one of some floats (64 bits) is -0.0."""
    import numpy as np

    lowest = np.iinfo(np.int64).min  # -0.0 is the sign bit alone
    return bool(len(values)) and bool(values.view(np.int64).min() == lowest)


class Folded(NamedTuple):
    """``values``: what the field is then. ``rows``: the rows that have the other fields."""

    values: Array
    rows: Array


def running(fold: FieldFold, codes: Array, values: Array, held: int) -> Folded | None:
    """The result after each row, in the order of the rows; None if a sum may not fit in 64 bits.

    Shapes: ``codes`` (small integers, the keys) and ``values`` are of one length, as are the
    results. ``held``: so many rows at the beginning, at most one of a key, are results themselves.
    """
    import numpy as np

    if not len(codes):
        return Folded(values, np.empty(0, np.int64))
    # Of numbers of one or two bytes numpy's stable sort is a radix sort.
    small = codes.astype(np.uint16) if int(codes.max()) < 1 << 16 else codes
    order = np.argsort(small, kind="stable")
    by_key, sorted_values = codes[order], values[order]
    begins = np.empty(len(codes), bool)
    begins[0] = True
    np.not_equal(by_key[1:], by_key[:-1], out=begins[1:])
    starts = np.flatnonzero(begins)
    counts = np.diff(starts, append=len(codes))
    if fold.operation == "sum" and values.dtype == np.int64:
        if not _fits(values, held, int(counts.max())):
            return None
        # Sums wrap around, and differences of them are right all the same.
        total = np.cumsum(sorted_values)
        folded = total - np.repeat(total[starts] - sorted_values[starts], counts)
    else:
        folded = _accumulated(fold, sorted_values, starts, counts)
    if fold.whole:
        changes = begins.copy()
        changes[1:] |= folded[1:] != folded[:-1]
        rows = order[np.maximum.accumulate(np.where(changes, np.arange(len(order)), 0))]
    else:
        rows = np.repeat(order[starts], counts)
    result = Folded(np.empty_like(folded), np.empty_like(rows))
    result.values[order], result.rows[order] = folded, rows
    return result


def _accumulated(fold: FieldFold, by_key: Array, starts: Array, counts: Array) -> Array:
    """Key by key, in order: numpy's ``accumulate`` adds one after another."""
    import numpy as np

    ufuncs = {"sum": np.add, "min": np.minimum, "max": np.maximum}
    accumulate, folded = ufuncs[fold.operation].accumulate, by_key.copy()
    several = counts > 1
    ends = (starts + counts)[several].tolist()
    with np.errstate(all="ignore"):  # Python's sums of floats are as quiet
        for start, end in zip(starts[several].tolist(), ends, strict=True):
            part = folded[start:end]
            accumulate(part, out=part)
    return folded


def final(fold: FieldFold, codes: Array, values: Array, held: int, keys: int) -> Folded | None:
    """The result of each key after all rows, in the order of the codes; None as in ``running``.

    Shapes: the codes are 0 to ``keys`` - 1, each is there. Results are of length ``keys``.
    """
    import numpy as np

    places = np.arange(len(codes))
    first = np.empty(keys, np.int64)
    first[codes[::-1]] = places[::-1]  # of several the last one counts
    if fold.operation == "sum" and values.dtype == np.int64:
        counts = np.bincount(codes, minlength=keys)
        if not _fits(values, held, int(counts.max(initial=0))):
            return None
    folded = values[first]
    others = np.ones(len(codes), bool)
    others[first] = False
    ufuncs = {"sum": np.add, "min": np.minimum, "max": np.maximum}
    with np.errstate(all="ignore"):  # Python's sums of floats are as quiet
        ufuncs[fold.operation].at(folded, codes[others], values[others])
    if not fold.whole:
        return Folded(folded, first)
    has_it = np.flatnonzero(values == folded[codes])
    first[codes[has_it][::-1]] = has_it[::-1]
    return Folded(folded, first)


def _fits(values: Array, held: int, most: int) -> bool:
    """Whether no sum of a result and so many values can leave 64 bits."""
    return _greatest(values[:held]) + _greatest(values[held:]) * most < _BEYOND


def _greatest(values: Array) -> int:
    return max(-int(values.min()), int(values.max())) if len(values) else 0
