"""Columns of values to columns of their texts in JSON and CSV, with Arrow's functions.

A text that Arrow writes differently from Java is written by the function for one value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.runtime.columns.shapes import python_values
from headrace.sql.types import (
    BooleanType,
    CharacterType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    TimeType,
    to_arrow,
)

SMALL = 64
"""Fewer rows are written one by one."""

Write = Callable[[Any], str]

_LEAST, _GREATEST = 1e-3, 1e7
"""Between these, Java writes doubles without exponents."""


def values_of(column: Any) -> Sequence[Any]:
    """Return the Python values of a column, which may be an Arrow array."""
    import pyarrow as pa

    return python_values(column) if isinstance(column, pa.Array) else column


def array_of(values: Any, kind: SqlType) -> Any | None:
    """Return a column of Python values, or of an Arrow array, as an Arrow array of the type.

    None: they do not fit exactly.
    """
    import pyarrow as pa

    if not isinstance(kind, _WRITTEN_BY_ARROW):
        return None
    if isinstance(values, pa.Array) and values.type == to_arrow(kind):
        return values
    values = values_of(values)
    try:
        return pa.array(values, to_arrow(kind))
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return None


def texts_of(array: Any, kind: SqlType, write: Write, between: str = " ") -> Any | None:
    """Return the text of each value of an array; None: Arrow has no such texts.

    ``write``: the text of one value. ``between``: what is between a date and a time.
    """
    import pyarrow as pa

    match kind:
        case CharacterType():
            return array
        case IntegerType() | BooleanType() | DateType():
            return array.cast(pa.string())
        case DoubleType():
            return _doubles(array, write)
        case DecimalType():
            return _decimals(array, write)
        case TimeType():
            return _without_zeros(array)
        case TimestampType() | TimestampLtzType():
            return _timestamps(array, isinstance(kind, TimestampLtzType), between)
    return None


_WRITTEN_BY_ARROW = (
    CharacterType,
    IntegerType,
    BooleanType,
    DateType,
    DoubleType,
    DecimalType,
    TimeType,
    TimestampType,
    TimestampLtzType,
)


def rewritten(texts: Any, chosen: Any, values: Any, write: Write) -> Any:
    """Return texts, where those of the chosen values are written one by one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    chosen = pc.fill_null(chosen, False)
    if not pc.any(chosen, min_count=0).as_py():
        return texts
    found = [write(value) for value in values.filter(chosen).to_pylist()]
    return pc.replace_with_mask(texts, chosen, pa.array(found, pa.string()))


def _doubles(array: Any, write: Write) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    size = pc.abs(array)
    inside = pc.or_(
        pc.and_(pc.greater_equal(size, _LEAST), pc.less(size, _GREATEST)), pc.equal(size, 0.0)
    )
    texts = array.cast(pa.string())
    # Arrow writes 1.0 as 1.
    ends = pc.if_else(pc.match_substring(texts, "."), "", ".0")
    return rewritten(pc.binary_join_element_wise(texts, ends, ""), pc.invert(inside), array, write)


def _decimals(array: Any, write: Write) -> Any:
    """Return texts without zeros at the end; Java writes 100 as 1E+2."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = array.cast(pa.string())
    short = texts
    if array.type.scale > 0:
        short = pc.utf8_rtrim(pc.utf8_rtrim(texts, "0"), ".")
    unusual = pc.or_(
        pc.match_substring(texts, "E"),
        pc.and_(pc.ends_with(short, "0"), pc.invert(pc.match_substring(short, "."))),
    )
    return rewritten(short, unusual, array, write)


def plain_decimals(array: Any, write: Write) -> Any:
    """Return the texts of decimals without exponents; ``write``: the text of one value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = array.cast(pa.string())
    return rewritten(texts, pc.match_substring(texts, "E"), array, write)


def _timestamps(array: Any, zoned: bool, between: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    # Python's datetime ends at microseconds.
    unit = "us" if array.type.unit == "ns" else array.type.unit
    whole = pc.floor_temporal(array, unit="microsecond") if unit != array.type.unit else array
    texts = _without_zeros(whole.cast(pa.timestamp(unit), safe=False))
    if between != " ":
        texts = pc.replace_substring(texts, " ", between)
    return pc.binary_join_element_wise(texts, "Z", "") if zoned else texts


def _without_zeros(moments: Any) -> Any:
    """Return the texts of moments, with as many digits after the point as are needed."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = moments.cast(pa.string())
    if moments.type.unit == "s":
        return texts
    return pc.utf8_rtrim(pc.utf8_rtrim(texts, "0"), ".")
