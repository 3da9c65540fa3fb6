"""TIMESTAMPADD and TIMESTAMPDIFF."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.sql.expressions import Call, Expression
from headrace.sql.functions import date_arithmetic, moments
from headrace.sql.functions.function import Function, Session, Signature
from headrace.sql.functions.kernels import cast_arrow
from headrace.sql.functions.time_units import MONTHS, UNIT_MS
from headrace.sql.types import (
    INT,
    DateType,
    IntegerType,
    NullType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    TimeType,
)


def _add_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    if len(arguments) != 2 or len(options) != 1 or options[0] not in MONTHS | UNIT_MS:
        return None
    amount, time = (each.type for each in arguments)
    if not isinstance(amount, IntegerType | NullType):
        return None
    amount_type: SqlType = INT.with_nullable(amount.nullable)
    if amount.root == "BIGINT":
        amount_type = amount
    small = options[0] in ("HOUR", "MINUTE", "SECOND", "MILLISECOND")
    match time:
        case DateType():
            result: SqlType = TimestampType(6) if small else time
        case TimestampType() | TimestampLtzType():
            result = time.without_attribute()
        case TimeType():
            result = time
        case _:
            return None
    nullable = amount.nullable or time.nullable
    return Signature((amount_type, time), result.with_nullable(nullable))


def _add(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    (amount, value), unit = arguments, call.options[0]
    kind = call.arguments[1].type
    if type(call.type) is not type(kind):
        value, kind = moments.convert(value, kind, call.type, session), call.type
    amount = cast_arrow(amount, pa.int64())
    if isinstance(kind, TimeType) and unit not in ("HOUR", "MINUTE", "SECOND", "MILLISECOND"):
        amount = pc.multiply(amount, 0)  # whole days later, a time of day is the same
        return date_arithmetic.add_ms(value, amount, kind)
    if unit in MONTHS:
        months = cast_arrow(pc.multiply(amount, MONTHS[unit]), pa.int32())
        return date_arithmetic.add_months(value, months, kind, session)
    return date_arithmetic.add_ms(value, pc.multiply(amount, UNIT_MS[unit]), kind)


def _diff_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    if len(arguments) != 2 or len(options) != 1 or options[0] not in MONTHS | UNIT_MS:
        return None
    one, two = (each.type for each in arguments)
    families = (TimeType, TimestampLtzType, DateType | TimestampType)
    if not any(isinstance(one, each) and isinstance(two, each) for each in families):
        return None
    return Signature((one, two), INT.with_nullable(one.nullable or two.nullable))


def _diff(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    unit = call.options[0]
    start, end = (
        _as_ms(value, each.type, session)
        for value, each in zip(arguments, call.arguments, strict=True)
    )
    if unit in MONTHS:
        found = pc.divide(months_between(end, start), MONTHS[unit])
    else:
        found = pc.divide(pc.subtract(end, start), UNIT_MS[unit])
    return cast_arrow(found, pa.int32())


def _as_ms(value: Any, kind: SqlType, session: Session) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    match kind:
        case DateType():
            days = cast_arrow(cast_arrow(value, pa.int32()), pa.int64())
            return pc.multiply(days, moments.DAY_MS)
        case TimeType():
            return cast_arrow(cast_arrow(value, pa.int32()), pa.int64())
        case TimestampLtzType():
            value = moments.to_local(value, session)
    return cast_arrow(moments.to_unit(value, pa.timestamp("ms")), pa.int64())


def months_between(end: Any, start: Any) -> Any:
    """Return how many whole months are between local times in ms; negative if end is first."""
    import pyarrow as pa
    import pyarrow.compute as pc

    backwards = pc.less(end, start)
    low, high = pc.if_else(backwards, end, start), pc.if_else(backwards, start, end)
    stamp = pa.timestamp("ms")
    low_time, high_time = cast_arrow(low, stamp), cast_arrow(high, stamp)
    months = pc.add(
        pc.multiply(pc.subtract(pc.year(high_time), pc.year(low_time)), 12),
        pc.subtract(pc.month(high_time), pc.month(low_time)),
    )
    amount = cast_arrow(months, pa.int32())
    moved = date_arithmetic.add_months(low_time, amount, TimestampType(3), Session())
    late = pc.greater(cast_arrow(moved, pa.int64()), high)
    months = pc.subtract(cast_arrow(months, pa.int64()), cast_arrow(late, pa.int64()))
    return pc.if_else(backwards, pc.negate(months), months)


FUNCTIONS = (
    Function(
        "TIMESTAMPADD",
        _add_rule,
        _add,
        ("TIMESTAMPADD(unit, count, time)",),
        "The time plus a number of units.",
        (("TIMESTAMPADD(WEEK, 1, DATE '2003-01-02')", "2003-01-09"),),
        of_session=True,
    ),
    Function(
        "TIMESTAMPDIFF",
        _diff_rule,
        _diff,
        ("TIMESTAMPDIFF(unit, time1, time2)",),
        "How many whole units are between time1 and time2.",
        (
            (
                "TIMESTAMPDIFF(DAY, TIMESTAMP '2003-01-02 10:00:00', "
                "TIMESTAMP '2003-01-03 10:00:00')",
                "1",
            ),
        ),
        of_session=True,
    ),
)
