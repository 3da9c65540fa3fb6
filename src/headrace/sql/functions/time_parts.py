"""EXTRACT: a part of a time or an interval.

Parts of a time before 1970 are those that Flink gives: it divides towards zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.sql.expressions import Call, Expression
from headrace.sql.functions import moments
from headrace.sql.functions.function import Function, Session, Signature
from headrace.sql.functions.kernels import cast_arrow
from headrace.sql.functions.time_units import TIME_UNITS, remainder
from headrace.sql.types import (
    BIGINT,
    DateType,
    MonthIntervalType,
    SecondIntervalType,
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
            known = unit in _DATE_UNITS | TIME_UNITS or unit == "EPOCH"
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
            rest = remainder(months, 12)
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
        whole = pc.multiply(remainder(ms, 1000), factor)
        return pc.add(whole, pc.divide(pc.multiply(below, factor), per_ms))
    return _part_of_ms(ms, unit)


def _part_of_ms(ms: Any, unit: str) -> Any:
    import pyarrow.compute as pc

    match unit:
        case "DAY":
            return pc.divide(ms, moments.DAY_MS)
        case "HOUR":
            return pc.divide(remainder(ms, moments.DAY_MS), 3_600_000)
        case "MINUTE":
            return pc.divide(remainder(ms, 3_600_000), 60_000)
        case "SECOND":
            return pc.divide(remainder(ms, 60_000), 1000)
        case "MILLISECOND":
            return remainder(ms, 1000)
        case "EPOCH":
            return pc.divide(ms, 1000)
    factor = {"MICROSECOND": 1000, "NANOSECOND": 1_000_000}[unit]
    return pc.multiply(remainder(ms, 1000), factor)


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
)
