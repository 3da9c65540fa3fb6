"""Trees of expressions, of the shapes that the grammar of SQL makes."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from headrace.errors import UnsupportedError
from headrace.sql.dialect.nodes import TypedLiteral, TypeName
from headrace.sql.types import DATE, SqlType, TimestampType, TimeType

CALLED, CONSTANT, SQL = "called", "constant", "sql"
"""Keys in ``meta`` of a node: the name that was given to ``call``; that a node is a constant, with
its sign or its type; the text of ``call_sql``."""


def tree_of(value: Any) -> exp.Expr:
    """Return the tree of an expression, or that of a constant."""
    tree = getattr(value, "_tree", None)
    return tree.copy() if isinstance(tree, exp.Expr) else constant(value)


def constant(value: Any) -> exp.Expr:
    """Return the tree of a Python value.

    Raises:
        UnsupportedError: there is no constant of its class.
    """
    match value:
        case None:
            return exp.Null()
        case bool():
            return exp.Boolean(this=value)
        case int():
            return _number(str(value))
        case float():
            return _number(_float_text(value))
        case decimal.Decimal():
            return _number(format(value, "f"))
        case str():
            return exp.Literal.string(value)
        case bytes() | bytearray():
            return exp.HexString(this=value.hex())
        case datetime.datetime(tzinfo=zone) if zone is not None:
            return constant(value.astimezone().replace(tzinfo=None))  # as this process reads it
        case datetime.time(tzinfo=zone) if zone is not None:
            raise UnsupportedError(f"the constant {value} has a time zone, but TIME does not")
        case datetime.datetime():
            text = value.isoformat(" ")
            digits = len(text.partition(".")[2])
            return _typed(text, TimestampType(digits, nullable=False))
        case datetime.date():
            return _typed(value.isoformat(), DATE.with_nullable(False))
        case datetime.time():
            text = value.isoformat()
            return _typed(text, TimeType(min(len(text.partition(".")[2]), 3), nullable=False))
        case datetime.timedelta():
            return interval_ms(value // datetime.timedelta(milliseconds=1))
        case list() | tuple():
            return exp.Array(expressions=[tree_of(each) for each in value])
    raise UnsupportedError(f"a constant of {type(value).__name__} is not supported in SQL: {value}")


def _float_text(value: float) -> str:
    text = repr(value)
    if text in ("inf", "-inf", "nan"):
        raise UnsupportedError(f"the constant {text} is not supported in SQL")
    return text if "e" in text else f"{text}e0"


def _number(text: str) -> exp.Expr:
    if text.startswith("-"):
        negative = exp.Neg(this=exp.Literal.number(text[1:]))
        negative.meta[CONSTANT] = True
        return negative
    return exp.Literal.number(text)


def _typed(text: str, kind: SqlType) -> exp.Expr:
    return TypedLiteral(this=exp.Literal.string(text), to=TypeName(this=kind))


def interval_ms(ms: int) -> exp.Expr:
    """Return the tree of an interval."""
    sign, seconds, rest = "-" if ms < 0 else "", *divmod(abs(ms), 1000)
    text = f"{sign}{seconds}.{rest:03}" if rest else f"{sign}{seconds}"
    return exp.Interval(this=exp.Literal.string(text), unit=exp.Var(this="SECOND"))


_MS = {"WEEK": 604_800_000, "DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1000}
_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}


def interval(value: exp.Expr, unit: str) -> exp.Expr:
    """Return the tree of a number of units, which must be a constant."""
    negative = isinstance(value, exp.Neg)
    number = value.this if negative else value
    if not isinstance(number, exp.Literal) or number.is_string or not number.this.isdecimal():
        raise UnsupportedError(
            f"an interval of {value.sql()} {unit.lower()}s is not supported: only whole constants"
        )
    count = -int(number.this) if negative else int(number.this)
    if unit == "MILLISECOND":
        return interval_ms(count)
    if unit in _MS:
        return interval_ms(count * _MS[unit])
    text = exp.Literal.string(str(count * _MONTHS[unit]))
    return exp.Interval(this=text, unit=exp.Var(this="MONTH"))


def column(name: str) -> exp.Expr:
    """Return the tree of a column."""
    return exp.column(name, quoted=True)


def call(name: str, *arguments: Any) -> exp.Expr:
    """Return the tree of a call of a function."""
    return exp.Anonymous(this=name, expressions=[tree_of(each) for each in arguments])


def units(name: str, unit: str, *arguments: Any) -> exp.Expr:
    """Return the tree of a call whose first argument is a unit of time."""
    trees = [exp.Var(this=unit), *(tree_of(each) for each in arguments)]
    return exp.Anonymous(this=name, expressions=trees)


def type_name(kind: SqlType) -> exp.Expr:
    """Return the tree of a type."""
    return TypeName(this=kind)


def joined(kind: type[exp.Expr], parts: Sequence[Any]) -> exp.Expr:
    """Return the tree of AND or OR of parts."""
    first, *others = map(tree_of, parts)
    for each in others:
        first = kind(this=first, expression=each)
    return first
