"""Which expressions depend on the session's time zone."""

from __future__ import annotations

from headrace.sql.expressions import Call, Expression, PythonCall
from headrace.sql.types import (
    ArrayType,
    BooleanType,
    MapType,
    MultisetType,
    RowType,
    SqlType,
    TimestampLtzType,
)

_ALWAYS = ("FROM_UNIXTIME", "CURRENT_DATE", "CURRENT_TIME", "LOCALTIME", "LOCALTIMESTAMP")


def reads_time_zone(expression: Expression) -> bool:
    """Return whether the result of a call may depend on the time zone.

    It may if a TIMESTAMP_LTZ is combined with another type, or rounded.
    """
    if not isinstance(expression, Call | PythonCall):
        return False
    types = [each.type for each in expression.arguments]
    if isinstance(expression, PythonCall):
        return any(map(has_moment, [*types, expression.type]))
    match expression.function:
        case name if name in _ALWAYS:
            return True
        case "UNIX_TIMESTAMP":
            return bool(types)
        case "TO_TIMESTAMP_LTZ":
            return False
        case "FLOOR" | "CEIL":
            return has_moment(types[0])
    types.append(expression.type)
    return any(map(has_moment, types)) and not all(
        isinstance(each, TimestampLtzType | BooleanType) for each in types
    )


def has_moment(kind: SqlType) -> bool:
    """Return whether values of a type contain a TIMESTAMP_LTZ."""
    match kind:
        case ArrayType() | MultisetType():
            return has_moment(kind.element)
        case MapType():
            return has_moment(kind.key) or has_moment(kind.value)
        case RowType():
            return any(has_moment(each.type) for each in kind.fields)
    return isinstance(kind, TimestampLtzType)
