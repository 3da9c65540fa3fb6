"""The column types of Python type hints: ``list[int]``, a ``TypedDict``."""

from __future__ import annotations

import datetime
import decimal
import types
from collections.abc import Awaitable, Coroutine
from typing import (
    Any,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from headrace.table._types import data_types as t
from headrace.table._types.inference import MAX_LENGTH
from headrace.table._types.rows import RowField, RowType

_SIMPLE: dict[Any, t.DataType] = {
    bool: t.BooleanType(),
    int: t.BigIntType(),
    float: t.DoubleType(),
    str: t.VarCharType(MAX_LENGTH),
    bytes: t.VarBinaryType(MAX_LENGTH),
    bytearray: t.VarBinaryType(MAX_LENGTH),
    decimal.Decimal: t.DecimalType(38, 18),
    datetime.date: t.DateType(),
    datetime.time: t.TimeType(3),
    datetime.datetime: t.TimestampType(6),
}


def type_of_hint(hint: Any) -> t.DataType:
    """Return the type of a hint: NOT NULL unless it is ``Optional``; STRING for ``Any``.

    Raises:
        TypeError: there is no column type for it.
    """
    return _type_of(hint, ())


def _type_of(hint: Any, outer: tuple[Any, ...]) -> t.DataType:
    """Return the type of a hint; ``outer``: the TypedDict classes that contain it."""
    if hint is Any:
        return t.VarCharType(MAX_LENGTH)
    found = _SIMPLE.get(hint) if isinstance(hint, type) else None
    if found is not None:
        return found.not_null()
    if isinstance(hint, type) and hasattr(hint, "__required_keys__"):  # typing_extensions' too
        return _row(hint, outer)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        others = [each for each in arguments if each is not type(None)]
        if len(others) == 1 and len(arguments) == 2:
            return _type_of(others[0], outer).nullable()
    elif origin is list and len(arguments) == 1:
        return t.ArrayType(_type_of(arguments[0], outer), nullable=False)
    elif origin is dict and len(arguments) == 2:
        key, value = (_type_of(each, outer) for each in arguments)
        return t.MapType(key, value, nullable=False)
    raise TypeError(f"the hint {hint} has no column type: declare a DataType")


def _row(hint: Any, outer: tuple[Any, ...]) -> RowType:
    if hint in outer:
        raise TypeError(f"the TypedDict '{hint.__name__}' contains itself, but a ROW cannot")
    fields = []
    # the marks are read here too: a class with postponed annotations does not know its keys
    for name, each in get_type_hints(hint, include_extras=True).items():
        required = name in hint.__required_keys__
        mark = getattr(get_origin(each), "_name", None)
        if mark in ("Required", "NotRequired"):
            required = mark == "Required"
            (each,) = get_args(each)
        kind = _type_of(each, (*outer, hint))
        fields.append(RowField(name, kind if required else kind.nullable()))
    return RowType(fields, nullable=False)


def awaited(hint: Any) -> Any:
    """Return the hint of the result of an awaitable; other hints unchanged."""
    if get_origin(hint) is Coroutine:
        return get_args(hint)[-1]
    return get_args(hint)[0] if get_origin(hint) is Awaitable else hint


def result_of_hints(function: Any) -> t.DataType | None:
    """Return the type of a function's return hint; None: it has no hint."""
    called = getattr(function, "eval", function)
    hints = get_type_hints(called) if hasattr(called, "__annotations__") else {}
    return type_of_hint(awaited(hints["return"])) if "return" in hints else None
