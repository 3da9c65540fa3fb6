"""Conditions over floats as Flink's optimizer rewrites them: with NaN they have other values.

A comparison with NaN is false. But ``NOT (d < 0)`` becomes ``d >= 0``, which is false too, and
``d = d`` becomes true, unless ``d`` is NULL.
"""

from __future__ import annotations

from headrace.sql.expressions import Call, ColumnRef, Expression, Literal
from headrace.sql.types import BOOLEAN, DoubleType, FloatType

_INVERSE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "=": "<>", "<>": "="}
_OTHER = {"AND": "OR", "OR": "AND"}


def as_rewritten(call: Call) -> Expression:
    """Return a call as Flink rewrites it, where NaN makes that another value."""
    match call:
        case Call(function="NOT", arguments=(condition,)) if _compares_floats(condition):
            return _negated(condition)
        case Call(function=sign, arguments=(ColumnRef() as one, ColumnRef() as other)) if (
            sign in _INVERSE and one == other and _is_float(one)
        ):
            always = Literal(BOOLEAN.with_nullable(False), sign in ("=", "<=", ">="))
            if not one.type.nullable:
                return always
            there = Call(BOOLEAN.with_nullable(False), "IS NOT NULL", (one,))
            return Call(call.type, "CASE", (there, always, Literal(call.type, None)))
    return call


def _compares_floats(condition: Expression) -> bool:
    if not isinstance(condition, Call):
        return False
    if condition.function in (*_INVERSE, "BETWEEN"):
        return any(map(_is_float, condition.arguments))
    if condition.function in (*_OTHER, "NOT"):
        return any(map(_compares_floats, condition.arguments))
    return condition.function == "CASE" and any(map(_compares_floats, _values(condition)))


def _negated(condition: Expression) -> Expression:
    match condition:
        case Call(function="NOT", arguments=(inside,)):
            return inside
        case Call(function="AND" | "OR" as word):
            parts = tuple(map(_negated, condition.arguments))
            return Call(condition.type, _OTHER[word], parts)
        case Call(function="BETWEEN", arguments=(value, low, high)):
            outside = (
                Call(condition.type, "<", (value, low)),
                Call(condition.type, ">", (value, high)),
            )
            return Call(condition.type, "OR", outside)
        case Call(function="CASE"):
            negated = [*condition.arguments]
            negated[1::2] = map(_negated, negated[1::2])
            negated[-1] = _negated(negated[-1])
            return Call(condition.type, "CASE", tuple(negated))
        case Call(function=sign) if sign in _INVERSE:
            return Call(condition.type, _INVERSE[sign], condition.arguments, condition.options)
    return Call(condition.type, "NOT", (condition,))


def _values(case: Call) -> tuple[Expression, ...]:
    """Return what a CASE gives."""
    return (*case.arguments[1::2], case.arguments[-1])


def _is_float(expression: Expression) -> bool:
    return isinstance(expression.type, FloatType | DoubleType)
