"""EXTRACT, FLOOR and CEIL to a unit, TIMESTAMPADD and TIMESTAMPDIFF.

Parts of a time before 1970 are those that Flink gives: it divides towards zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.sql.expressions import Call, Expression
from headrace.sql.functions import date_arithmetic, moments
from headrace.sql.functions.function import Function, Session, Signature
from headrace.sql.functions.kernels import cast_arrow
from headrace.sql.functions.math import WHOLE, floor_or_ceil
from headrace.sql.types import (
    BIGINT,
    INT,
    DateType,
    IntegerType,
    MonthIntervalType,
    NullType,
    SecondIntervalType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    TimeType,
)

_DATE_UNITS = frozenset(
    [
        *("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOY", "DOW", "ISODOW", "ISOYEAR"),
        *("DECADE", "CENTURY", "MILLENNIUM"),
    ]
)
_TIME_UNITS = frozenset(["HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "NANOSECOND"])
_YEARS = {"DECADE": 10, "CENTURY": 100, "MILLENNIUM": 1000}
_FLOOR_UNITS = frozenset(
    [
        *("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND"),
        *_YEARS,
    ]
)
_DAYS_BEFORE_1970 = 719_162
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_MS = {
    "MILLISECOND": 1,
    "SECOND": 1000,
    "MINUTE": 60_000,
    "HOUR": 3_600_000,
    "DAY": 86_400_000,
    "WEEK": 604_800_000,
}


def _extract_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    if len(arguments) != 1 or len(options) != 1:
        return None
    kind, unit = arguments[0].type, options[0]
    match kind:
        case DateType():
            known = unit in _DATE_UNITS or unit == "EPOCH"
        case TimeType():
            known = unit in ("HOUR", "MINUTE", "SECOND", "MILLISECOND")
        case TimestampType() | TimestampLtzType():
            known = unit in _DATE_UNITS | _TIME_UNITS or unit == "EPOCH"
        case SecondIntervalType():
            known = unit in ("DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "EPOCH")
        case MonthIntervalType():
            known = unit in ("YEAR", "QUARTER", "MONTH")
        case _:
            known = False
    return Signature((kind,), BIGINT.with_nullable(kind.nullable)) if known else None


def _extract(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    (value,), unit = arguments, call.options[0]
    wide = pa.int64()
    match call.arguments[0].type:
        case MonthIntervalType():
            months = cast_arrow(value, wide)
            if unit == "YEAR":
                return pc.divide(months, 12)
            rest = _rest(months, 12)
            return rest if unit == "MONTH" else pc.add(pc.divide(rest, 3), 1)
        case SecondIntervalType():
            return _part_of_ms(value, unit)
        case DateType():
            return _of_date(value, unit)
        case TimeType():
            return _part_of_ms(cast_arrow(cast_arrow(value, pa.int32()), wide), unit)
        case TimestampLtzType():
            value = moments.to_local(value, session)
    number = cast_arrow(value, wide)
    per_ms = moments.PER_SECOND[value.type.unit] // 1000
    ms = moments.floor_divide(number, per_ms)
    if unit in _DATE_UNITS:
        days = pc.divide(ms, moments.DAY_MS)
        return _of_date(cast_arrow(cast_arrow(days, pa.int32()), pa.date32()), unit)
    if unit in ("MICROSECOND", "NANOSECOND"):
        below = pc.subtract(number, pc.multiply(ms, per_ms))
        factor = {"MICROSECOND": 1000, "NANOSECOND": 1_000_000}[unit]
        whole = pc.multiply(_rest(ms, 1000), factor)
        return pc.add(whole, pc.divide(pc.multiply(below, factor), per_ms))
    return _part_of_ms(ms, unit)


def _rest(number: Any, divisor: int) -> Any:
    """Return the remainders of divisions towards zero."""
    import pyarrow.compute as pc

    return pc.subtract(number, pc.multiply(pc.divide(number, divisor), divisor))


def _part_of_ms(ms: Any, unit: str) -> Any:
    import pyarrow.compute as pc

    match unit:
        case "DAY":
            return pc.divide(ms, moments.DAY_MS)
        case "HOUR":
            return pc.divide(_rest(ms, moments.DAY_MS), 3_600_000)
        case "MINUTE":
            return pc.divide(_rest(ms, 3_600_000), 60_000)
        case "SECOND":
            return pc.divide(_rest(ms, 60_000), 1000)
        case "MILLISECOND":
            return _rest(ms, 1000)
        case "EPOCH":
            return pc.divide(ms, 1000)
    factor = {"MICROSECOND": 1000, "NANOSECOND": 1_000_000}[unit]
    return pc.multiply(_rest(ms, 1000), factor)


def _of_date(value: Any, unit: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    wide = pa.int64()
    match unit:
        case "YEAR":
            found = pc.year(value)
        case "QUARTER":
            found = pc.quarter(value)
        case "MONTH":
            found = pc.month(value)
        case "WEEK":
            found = pc.iso_week(value)
        case "DAY":
            found = pc.day(value)
        case "DOY":
            found = pc.day_of_year(value)
        case "DOW":
            found = pc.day_of_week(value, count_from_zero=False, week_start=7)
        case "ISODOW":
            found = pc.day_of_week(value, count_from_zero=False, week_start=1)
        case "ISOYEAR":
            found = pc.iso_year(value)
        case "EPOCH":
            found = pc.multiply(cast_arrow(cast_arrow(value, pa.int32()), wide), 86_400)
        case "DECADE":
            found = moments.floor_divide(cast_arrow(pc.year(value), wide), 10)
        case "CENTURY" | "MILLENNIUM":
            years = 100 if unit == "CENTURY" else 1000
            found = pc.divide(pc.add(cast_arrow(pc.year(value), wide), years - 1), years)
        case _:
            raise AssertionError(unit)
    return cast_arrow(found, wide)


def _floor_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    if not options:
        return WHOLE(arguments, options)
    if len(arguments) != 1 or options[0] not in _FLOOR_UNITS:
        return None
    kind = arguments[0].type
    match kind:
        case DateType():
            return Signature((kind,), kind)
        case TimeType() if options[0] in _TIME_UNITS:
            return Signature((kind,), kind)
        case TimestampType() | TimestampLtzType():
            return Signature((kind,), kind)
    return None


def _floor_or_ceil(ceil: bool) -> Any:
    numbers = floor_or_ceil(ceil)

    def kernel(call: Call, arguments: Sequence[Any], session: Session) -> Any:
        if not call.options:
            return numbers(call, arguments, session)
        (value,), (unit,) = arguments, call.options
        kind = call.arguments[0].type
        if isinstance(kind, TimestampLtzType):
            return _moment_to_unit(value, unit, ceil, session)
        return _to_unit(value, unit, ceil)

    return kernel


def _moment_to_unit(value: Any, unit: str, ceil: bool, session: Session) -> Any:
    """Return moments rounded to a unit of the local time; the offset is, as in Flink, the same."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wide = pa.int64()
    local = moments.to_local(value, session)
    offset = pc.subtract(cast_arrow(local, wide), cast_arrow(value, wide))
    rounded = cast_arrow(_to_unit(local, unit, ceil), wide)
    return cast_arrow(pc.subtract(rounded, offset), value.type)


def _to_unit(value: Any, unit: str, ceil: bool) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = value.type
    if pa.types.is_date(kind) and unit in _TIME_UNITS:
        return value
    if pa.types.is_date(kind) and unit == "DAY":
        # As in Flink, a date is rounded up to the next one.
        return date_arithmetic.add_ms(value, pa.scalar(_MS[unit]), DateType()) if ceil else value
    if pa.types.is_time(kind):
        number = cast_arrow(cast_arrow(value, pa.int32()), pa.int64())
        step = _MS[unit]
        found = pc.multiply(moments.floor_divide(number, step), step)
        if ceil:
            found = pc.if_else(pc.less(found, number), pc.add(found, step), found)
            found = _rest(found, moments.DAY_MS)
        return cast_arrow(cast_arrow(found, pa.int32()), kind)
    name = unit.lower()
    if (unit in _MONTHS or unit in _YEARS) and not pa.types.is_date(kind):
        # As in Flink, the day of a time is cut off, also before 1970.
        days = pc.divide(cast_arrow(value, pa.int64()), 86_400 * moments.PER_SECOND[kind.unit])
        dates = cast_arrow(cast_arrow(days, pa.int32()), pa.date32())
        if unit in _YEARS:
            dates = _to_years(dates, unit, ceil)
        value = moments.convert(dates, DateType(), _kind_of(kind), Session())
        if unit in _YEARS:
            return cast_arrow(value, kind)
    if unit in _YEARS:
        return _to_years(value, unit, ceil)
    floor = cast_arrow(pc.floor_temporal(value, 1, unit=name, week_starts_monday=False), kind)
    if not ceil:
        return floor
    if unit in _MONTHS:
        after = date_arithmetic.add_months(
            floor, pa.scalar(_MONTHS[unit], pa.int32()), _kind_of(kind), Session()
        )
    else:
        after = date_arithmetic.add_ms(floor, pa.scalar(_MS[unit], pa.int64()), _kind_of(kind))
    return pc.if_else(pc.less(floor, value), cast_arrow(after, kind), floor)


def _to_years(dates: Any, unit: str, ceil: bool) -> Any:
    """Return the first day of a decade, century or millennium; ``ceil``: of the next one.

    Centuries begin in their year 1. As in Flink, the first day itself is rounded up too.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    step, first = _YEARS[unit], 0 if unit == "DECADE" else 1
    year = cast_arrow(pc.year(dates), pa.int64())
    start = pc.multiply(moments.floor_divide(pc.subtract(year, first), step), step)
    before = pc.add(start, first - 1 + (step if ceil else 0))
    leap_days = pc.add(
        pc.subtract(moments.floor_divide(before, 4), moments.floor_divide(before, 100)),
        moments.floor_divide(before, 400),
    )
    days = pc.subtract(pc.add(pc.multiply(before, 365), leap_days), _DAYS_BEFORE_1970)
    return cast_arrow(cast_arrow(days, pa.int32()), pa.date32())


def _kind_of(kind: Any) -> SqlType:
    """Return a type of SQL of an Arrow type of local times."""
    import pyarrow as pa

    if pa.types.is_date(kind):
        return DateType()
    return TimestampType({"ms": 3, "us": 6, "ns": 9}[kind.unit])


def _add_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    if len(arguments) != 2 or len(options) != 1 or options[0] not in _MONTHS | _MS:
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
    if unit in _MONTHS:
        months = cast_arrow(pc.multiply(amount, _MONTHS[unit]), pa.int32())
        return date_arithmetic.add_months(value, months, kind, session)
    return date_arithmetic.add_ms(value, pc.multiply(amount, _MS[unit]), kind)


def _diff_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    if len(arguments) != 2 or len(options) != 1 or options[0] not in _MONTHS | _MS:
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
    if unit in _MONTHS:
        found = pc.divide(months_between(end, start), _MONTHS[unit])
    else:
        found = pc.divide(pc.subtract(end, start), _MS[unit])
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
        "EXTRACT",
        _extract_rule,
        _extract,
        ("EXTRACT(unit FROM time)", "YEAR(time)", "MONTH(time)", "DAYOFMONTH(time)", "HOUR(time)"),
        "A part of a time or interval, as BIGINT.",
        (("EXTRACT(DAY FROM DATE '2006-06-05')", "5"), ("YEAR(DATE '1994-09-27')", "1994")),
        of_session=True,
    ),
    Function(
        "FLOOR",
        _floor_rule,
        _floor_or_ceil(ceil=False),
        ("FLOOR(number)", "FLOOR(time TO unit)"),
        "The number or time rounded down to a whole one.",
        (("FLOOR(1.5)", "1"), ("FLOOR(TIME '12:44:31' TO MINUTE)", "12:44")),
        of_session=True,
    ),
    Function(
        "CEIL",
        _floor_rule,
        _floor_or_ceil(ceil=True),
        ("CEIL(number)", "CEIL(time TO unit)"),
        "The number or time rounded up to a whole one.",
        (("CEIL(1.5)", "2"),),
        of_session=True,
    ),
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
