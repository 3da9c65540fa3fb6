"""FLOOR and CEIL of a time to a unit, and of a number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.sql.expressions import Call, Expression
from headrace.sql.functions import date_arithmetic, moments
from headrace.sql.functions.function import Function, Session, Signature
from headrace.sql.functions.kernels import cast_arrow
from headrace.sql.functions.math import WHOLE, floor_or_ceil
from headrace.sql.functions.time_units import MONTHS, TIME_UNITS, UNIT_MS, YEARS, remainder
from headrace.sql.types import (
    DateType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    TimeType,
    to_arrow,
)

_FLOOR_UNITS = frozenset(
    [
        *("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND"),
        *YEARS,
    ]
)


_DAYS_BEFORE_1970 = 719_162


def _floor_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    if not options:
        return WHOLE(arguments, options)
    if len(arguments) != 1 or options[0] not in _FLOOR_UNITS:
        return None
    kind = arguments[0].type
    match kind:
        case DateType():
            return Signature((kind,), kind)
        case TimeType() if options[0] in TIME_UNITS:
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
        if ceil and unit != "MILLISECOND" and isinstance(kind, TimestampType | TimestampLtzType):
            # As in Flink, less than a millisecond does not round up.
            value = moments.to_precision(value, 3, to_arrow(kind))
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
    if pa.types.is_date(kind) and unit in TIME_UNITS:
        return value
    if pa.types.is_date(kind) and unit == "DAY":
        # As in Flink, a date is rounded up to the next one.
        return (
            date_arithmetic.add_ms(value, pa.scalar(UNIT_MS[unit]), DateType()) if ceil else value
        )
    if pa.types.is_time(kind):
        number = cast_arrow(cast_arrow(value, pa.int32()), pa.int64())
        step = UNIT_MS[unit]
        found = pc.multiply(moments.floor_divide(number, step), step)
        if ceil:
            found = pc.if_else(pc.less(found, number), pc.add(found, step), found)
            found = remainder(found, moments.DAY_MS)
        return cast_arrow(cast_arrow(found, pa.int32()), kind)
    name = unit.lower()
    if (unit == "WEEK" or unit in MONTHS or unit in YEARS) and not pa.types.is_date(kind):
        # As in Flink, the day of a time is cut off, also before 1970.
        days = pc.divide(cast_arrow(value, pa.int64()), 86_400 * moments.PER_SECOND[kind.unit])
        dates = cast_arrow(cast_arrow(days, pa.int32()), pa.date32())
        if unit in YEARS:
            dates = _to_years(dates, unit, ceil)
        value = moments.convert(dates, DateType(), _kind_of(kind), Session())
        if unit in YEARS:
            return cast_arrow(value, kind)
    if unit in YEARS:
        return _to_years(value, unit, ceil)
    floor = cast_arrow(pc.floor_temporal(value, 1, unit=name, week_starts_monday=False), kind)
    if not ceil:
        return floor
    if unit in MONTHS:
        after = date_arithmetic.add_months(
            floor, pa.scalar(MONTHS[unit], pa.int32()), _kind_of(kind), Session()
        )
    else:
        after = date_arithmetic.add_ms(floor, pa.scalar(UNIT_MS[unit], pa.int64()), _kind_of(kind))
    return pc.if_else(pc.less(floor, value), cast_arrow(after, kind), floor)


def _to_years(dates: Any, unit: str, ceil: bool) -> Any:
    """Return the first day of a decade, century or millennium; ``ceil``: of the next one.

    Centuries begin in their year 1. As in Flink, the first day itself is rounded up too.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    step, first = YEARS[unit], 0 if unit == "DECADE" else 1
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


FUNCTIONS = (
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
)
