"""What kernels are made of: Arrow values in, Arrow values out.

A value is an array, or a scalar for a constant. pyarrow is imported when the first kernel runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.sql.expressions import Call
from headrace.sql.functions.function import Kernel, Session
from headrace.sql.types import to_arrow


def arrow(name: str, **options: Any) -> Kernel:
    """Return the kernel that calls a function of ``pyarrow.compute``."""

    def kernel(call: Call, arguments: Sequence[Any], session: Session) -> Any:
        import pyarrow.compute as pc

        return getattr(pc, name)(*arguments, **options)

    return kernel


def python(function: Callable[..., Any], *, nulls: bool = False) -> Kernel:
    """Return the kernel that calls a Python function for each distinct row of values.

    ``nulls``: it is called for NULL too, as None; else the result of a NULL is NULL.
    """

    def kernel(call: Call, arguments: Sequence[Any], session: Session) -> Any:
        return map_values(function, arguments, to_arrow(call.type), nulls=nulls)

    return kernel


def is_scalar(value: Any) -> bool:
    """Return whether a value is one for all rows."""
    import pyarrow as pa

    return isinstance(value, pa.Scalar)


def map_values(
    function: Callable[..., Any], arguments: Sequence[Any], kind: Any, *, nulls: bool = False
) -> Any:
    """Return a Python function's results, computed once for each distinct row of values.

    Rows of several columns with floating-point numbers are all computed.
    """
    import pyarrow as pa

    arrays = [each for each in arguments if not is_scalar(each)]
    if not nulls and any(is_scalar(each) and not each.is_valid for each in arguments):
        return pa.nulls(len(arrays[0]), kind) if arrays else pa.scalar(None, kind)
    if not arrays:
        return pa.scalar(function(*(each.as_py() for each in arguments)), kind)
    if len(arrays) == 1 and can_be_dictionary(arrays[0].type):
        return _by_dictionary(function, arguments, arrays[0], kind, nulls)
    return _by_row(function, arguments, arrays, kind, nulls)


def can_be_dictionary(kind: Any) -> bool:
    """Return whether Arrow finds the distinct values of a type."""
    import pyarrow as pa

    return not (pa.types.is_nested(kind) or pa.types.is_null(kind))


def _by_dictionary(
    function: Callable[..., Any], arguments: Sequence[Any], array: Any, kind: Any, nulls: bool
) -> Any:
    import pyarrow as pa

    encoded = array.dictionary_encode(null_encoding="encode" if nulls else "mask")
    constants = [each.as_py() if is_scalar(each) else None for each in arguments]
    place = next(n for n, each in enumerate(arguments) if each is array)
    results = []
    for value in encoded.dictionary.to_pylist():
        constants[place] = value
        results.append(function(*constants))
    return pa.array(results, kind).take(encoded.indices)


def _by_row(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    arrays: list[Any],
    kind: Any,
    nulls: bool,
) -> Any:
    import pyarrow as pa

    rows = len(arrays[0])
    lists = [[each.as_py()] * rows if is_scalar(each) else each.to_pylist() for each in arguments]
    # 0.0 and -0.0 are equal, and not the same.
    floating = any(pa.types.is_floating(each.type) for each in arrays)
    if not floating and all(can_be_dictionary(each.type) for each in arguments):
        known: dict[Any, Any] = {}
        called = function

        def function(*row: Any) -> Any:
            if row not in known:
                known[row] = called(*row)
            return known[row]

    results = [
        function(*row) if nulls or None not in row else None for row in zip(*lists, strict=True)
    ]
    return pa.array(results, kind)


def cast_arrow(value: Any, kind: Any, *, safe: bool = False) -> Any:
    """Return a value as another Arrow type."""
    import pyarrow.compute as pc

    return value if value.type == kind else pc.cast(value, kind, safe=safe)


def nulls_like(value: Any, kind: Any) -> Any:
    """Return NULL, for as many rows."""
    import pyarrow as pa

    return pa.scalar(None, kind) if is_scalar(value) else pa.nulls(len(value), kind)


def rows_of(arguments: Sequence[Any]) -> int | None:
    """Return the number of rows; None: all values are scalars."""
    return next((len(each) for each in arguments if not is_scalar(each)), None)


def as_array(value: Any, rows: int) -> Any:
    """Return a value as an array."""
    import pyarrow as pa

    if not is_scalar(value):
        return value
    if not value.is_valid:
        return pa.nulls(rows, value.type)
    if pa.types.is_nested(value.type):
        return pa.array([value.as_py()], value.type).take(pa.array([0] * rows, pa.int32()))
    return pa.repeat(value, rows)
