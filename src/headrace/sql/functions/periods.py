"""Whether two periods overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.sql.expressions import Call, Expression
from headrace.sql.functions import date_arithmetic
from headrace.sql.functions.comparison import compare
from headrace.sql.functions.function import Session, Signature, table_row
from headrace.sql.types import (
    BOOLEAN,
    DateType,
    MonthIntervalType,
    SecondIntervalType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    TimeType,
)


def _interval(kind: SqlType) -> SqlType | None:
    return kind if isinstance(kind, MonthIntervalType | SecondIntervalType) else None


def _overlaps_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    if len(arguments) != 2:
        return None
    for each in arguments:
        if not isinstance(each, Call) or each.function != "ROW" or len(each.arguments) != 2:
            return None
        start, end = (part.type for part in each.arguments)
        if not isinstance(start, DateType | TimeType | TimestampType | TimestampLtzType):
            return None
        if _interval(end) is None and type(end) is not type(start):
            return None
    nullable = any(part.type.nullable for each in arguments for part in _parts(each))
    return Signature(tuple(each.type for each in arguments), BOOLEAN.with_nullable(nullable))


def _parts(expression: Expression) -> tuple[Expression, ...]:
    assert isinstance(expression, Call)
    return expression.arguments


def _overlaps(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow.compute as pc

    one, two = (
        _period(value, each, session) for value, each in zip(arguments, call.arguments, strict=True)
    )
    return pc.and_kleene(
        compare("greater_equal", one[1], two[0]), compare("greater_equal", two[1], one[0])
    )


def _period(row: Any, expression: Expression, session: Session) -> tuple[Any, Any]:
    """Return the start and the end of a period, the earlier one first."""
    import pyarrow.compute as pc

    start, end = pc.struct_field(row, [0]), pc.struct_field(row, [1])
    kinds = [each.type for each in _parts(expression)]
    if isinstance(kinds[1], MonthIntervalType):
        end = date_arithmetic.add_months(start, end, kinds[0], session)
    elif isinstance(kinds[1], SecondIntervalType):
        end = date_arithmetic.add_ms(start, end, kinds[0])
    swap = compare("greater", start, end)
    return pc.if_else(swap, end, start), pc.if_else(swap, start, end)


FUNCTIONS = (
    table_row(
        "OVERLAPS",
        _overlaps_rule,
        _overlaps,
        "(time1, time2) OVERLAPS (time3, interval)",
        "Whether two periods have a moment in common.",
        (
            "(TIME '2:55:00', INTERVAL '1' HOUR) OVERLAPS (TIME '3:30:00', INTERVAL '2' HOUR)",
            "true",
        ),
        of_session=True,
    ),
)
