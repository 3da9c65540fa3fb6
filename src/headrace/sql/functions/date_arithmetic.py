"""Dates, times and timestamps plus intervals; intervals with intervals and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.sql.expressions import Call, Expression
from headrace.sql.functions import moments
from headrace.sql.functions.function import Session, Signature
from headrace.sql.functions.kernels import cast_arrow, is_scalar
from headrace.sql.functions.numbers import divide_integers
from headrace.sql.types import (
    DateType,
    IntegerType,
    MonthIntervalType,
    NumericType,
    SecondIntervalType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    TimeType,
    to_arrow,
)

Interval = MonthIntervalType | SecondIntervalType
Stamp = TimestampType | TimestampLtzType


def _pair(arguments: Sequence[Expression]) -> tuple[SqlType, SqlType] | None:
    return (arguments[0].type, arguments[1].type) if len(arguments) == 2 else None


def _signature(arguments: Sequence[Expression], result: SqlType) -> Signature:
    types = tuple(each.type for each in arguments)
    return Signature(types, result.with_nullable(any(each.nullable for each in types)))


def add_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    """Return the signature of time + interval, interval + time and interval + interval."""
    match _pair(arguments):
        case (
            (TimestampType() | TimestampLtzType() | DateType() | TimeType()) as time,
            (MonthIntervalType() | SecondIntervalType()) as interval,
        ):
            return _moved(arguments, time, interval)
        case (
            (MonthIntervalType() | SecondIntervalType()) as interval,
            (TimestampType() | TimestampLtzType() | DateType() | TimeType()) as time,
        ):
            return _moved(arguments, time, interval)
        case (MonthIntervalType() | SecondIntervalType() as one, two) if type(one) is type(two):
            return _signature(arguments, one)
    return None


def subtract_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    """Return the signature of time - interval and interval - interval."""
    match _pair(arguments):
        case (
            (TimestampType() | TimestampLtzType() | DateType() | TimeType()) as time,
            (MonthIntervalType() | SecondIntervalType()) as interval,
        ):
            return _moved(arguments, time, interval)
        case (MonthIntervalType() | SecondIntervalType() as one, two) if type(one) is type(two):
            return _signature(arguments, one)
    return None


def _moved(arguments: Sequence[Expression], time: SqlType, interval: SqlType) -> Signature | None:
    if isinstance(time, TimeType) and isinstance(interval, MonthIntervalType):
        return None
    return _signature(arguments, time)


def multiply_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    """Return the signature of interval * number and number * interval."""
    match _pair(arguments):
        case (MonthIntervalType() | SecondIntervalType() as interval, NumericType()) | (
            NumericType(),
            MonthIntervalType() | SecondIntervalType() as interval,
        ):
            return _signature(arguments, interval)
    return None


def divide_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    """Return the signature of interval / number."""
    match _pair(arguments):
        case (MonthIntervalType() | SecondIntervalType() as interval, IntegerType()):
            return _signature(arguments, interval)
    return None


def add(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    """Return the sums."""
    return _add(call, arguments, session, 1)


def subtract(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    """Return the differences."""
    return _add(call, arguments, session, -1)


def _add(call: Call, arguments: Sequence[Any], session: Session, sign: int) -> Any:
    import pyarrow.compute as pc

    one, two = call.arguments
    left, right = arguments
    if isinstance(one.type, Interval) and not isinstance(two.type, Interval):
        one, two, left, right = two, one, right, left
    if isinstance(one.type, Interval):
        return pc.add(left, right) if sign > 0 else pc.subtract(left, right)
    amount = right if sign > 0 else pc.negate(right)
    if isinstance(two.type, MonthIntervalType):
        return add_months(left, amount, one.type, session)
    moved = add_ms(left, amount, one.type)
    return _in_digits(moved, one.type, session) if is_scalar(moved) else moved


def _in_digits(moved: Any, kind: SqlType, session: Session) -> Any:
    """Cut a constant to the digits of its type. Flink does this for constants, not for columns."""
    if isinstance(kind, TimeType):
        return moments.cut_time(moved, kind.precision)
    return moments.convert(moved, kind, kind, session) if isinstance(kind, Stamp) else moved


def add_ms(value: Any, amount: Any, kind: SqlType) -> Any:
    """Return dates, times or timestamps later by int64 milliseconds."""
    import pyarrow as pa
    import pyarrow.compute as pc

    arrow = to_arrow(kind)
    match kind:
        case DateType():
            days = cast_arrow(cast_arrow(value, pa.int32()), pa.int64())
            moved = pc.add(days, pc.divide(amount, moments.DAY_MS))
            return cast_arrow(cast_arrow(moved, pa.int32()), arrow)
        case TimeType():
            number = cast_arrow(cast_arrow(value, pa.int32()), pa.int64())
            moved = pc.add(number, amount)
            whole = pc.multiply(moments.floor_divide(moved, moments.DAY_MS), moments.DAY_MS)
            return cast_arrow(cast_arrow(pc.subtract(moved, whole), pa.int32()), arrow)
    factor = moments.PER_SECOND[arrow.unit] // 1000
    moved = moments.plus(cast_arrow(value, pa.int64()), moments.times(amount, factor))
    return cast_arrow(moved, arrow)


def add_months(value: Any, amount: Any, kind: SqlType, session: Session) -> Any:
    """Return dates or timestamps later by int32 months; the day is at most the month's last.

    Those of a moment are, as in Flink, months of UTC.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    match kind:
        case TimestampType() | TimestampLtzType():
            unit = moments.PER_SECOND[value.type.unit] * 86_400
            number = cast_arrow(value, pa.int64())
            days = moments.floor_divide(number, unit)
            rest = pc.subtract(number, pc.multiply(days, unit))
            date = cast_arrow(cast_arrow(days, pa.int32()), pa.date32())
            moved = add_months(date, amount, DateType(), session)
            days = cast_arrow(cast_arrow(moved, pa.int32()), pa.int64())
            return cast_arrow(moments.plus(moments.times(days, unit), rest), value.type)
    wide = pa.int64()
    months = pc.add(
        pc.add(pc.multiply(cast_arrow(pc.year(value), wide), 12), pc.month(value)),
        pc.subtract(cast_arrow(amount, wide), 1),
    )
    first = _first_day(months)
    length = pc.subtract(_first_day(pc.add(months, 1)), first)
    day = pc.min_element_wise(cast_arrow(pc.day(value), wide), length, skip_nulls=False)
    days = pc.add(first, pc.subtract(day, 1))
    return cast_arrow(cast_arrow(days, pa.int32()), pa.date32())


def _first_day(months: Any) -> Any:
    """Return the days since the epoch of the first days of months, counted from year 0."""
    import pyarrow.compute as pc

    year = moments.floor_divide(months, 12)
    month = pc.subtract(months, pc.multiply(year, 12))
    # The days of a year that begins in March, so that a leap day is its last.
    late = pc.if_else(pc.less(month, 2), 1, 0)
    year = pc.subtract(year, late)
    march = pc.add(pc.subtract(month, 2), pc.multiply(late, 12))
    era = moments.floor_divide(year, 400)
    of_era = pc.subtract(year, pc.multiply(era, 400))
    of_year = pc.divide(pc.add(pc.multiply(march, 153), 2), 5)
    leaps = pc.subtract(pc.divide(of_era, 4), pc.divide(of_era, 100))
    day = pc.add(pc.add(pc.multiply(of_era, 365), leaps), of_year)
    return pc.subtract(pc.add(pc.multiply(era, 146_097), day), 719_468)


def multiply(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    """Return intervals times numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = to_arrow(call.type)
    one, two = (
        cast_arrow(each, pa.int64()) if pa.types.is_integer(each.type) else _cut(each)
        for each in arguments
    )
    return cast_arrow(pc.multiply(one, two), kind)


def _cut(value: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return cast_arrow(pc.trunc(value), pa.int64())


def divide(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    """Return intervals divided by integers, cut off."""
    import pyarrow as pa

    one, two = (cast_arrow(each, pa.int64()) for each in arguments)
    return cast_arrow(divide_integers(one, two), to_arrow(call.type))
