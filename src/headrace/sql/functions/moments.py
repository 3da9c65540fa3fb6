"""Dates, times and timestamps as Arrow values: zones, conversions, whole units."""

from __future__ import annotations

from typing import Any, Literal

from headrace.errors import SqlError
from headrace.sql.functions.function import Session
from headrace.sql.functions.kernels import cast_arrow
from headrace.sql.types import (
    DateType,
    DecimalType,
    IntegerType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    TimeType,
    to_arrow,
)

PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
DAY_MS = 86_400_000


def to_local(value: Any, session: Session) -> Any:
    """Return TIMESTAMP_LTZ values as the session's local time, without a zone."""
    import pyarrow as pa
    import pyarrow.compute as pc

    zoned = cast_arrow(value, pa.timestamp(value.type.unit, session.time_zone))
    return pc.local_timestamp(zoned)


def from_local(value: Any, session: Session) -> Any:
    """Return local times as TIMESTAMP_LTZ, as Java does where clocks are changed.

    A time that occurs twice is the earlier one; one that does not occur is later by the gap.
    """
    return in_zone(value, session.time_zone)


def in_zone(
    value: Any, time_zone: str, *, twice: Literal["earliest", "latest"] = "earliest"
) -> Any:
    """Return local times of a zone as moments; ``twice``: which one if a time occurs twice."""
    import pyarrow as pa
    import pyarrow.compute as pc

    unit = value.type.unit
    found = pc.assume_timezone(value, time_zone, ambiguous=twice, nonexistent="latest")
    back = pc.local_timestamp(found)
    moment = cast_arrow(found, pa.timestamp(unit, "UTC"))
    if pc.all(pc.equal(back, value)).as_py() in (True, None):
        return moment
    number = cast_arrow(value, pa.int64())
    gap_start = pc.subtract(cast_arrow(moment, pa.int64()), 1)
    before = cast_arrow(cast_arrow(gap_start, pa.timestamp(unit, "UTC")), found.type)
    offset = pc.subtract(cast_arrow(pc.local_timestamp(before), pa.int64()), gap_start)
    shifted = cast_arrow(pc.subtract(number, offset), pa.timestamp(unit, "UTC"))
    return pc.if_else(pc.equal(back, value), moment, shifted)


def to_unit(value: Any, kind: Any) -> Any:
    """Return timestamps in the unit of another Arrow type; smaller parts are left out."""
    import pyarrow as pa

    if value.type == kind:
        return value
    have, want = PER_SECOND[value.type.unit], PER_SECOND[kind.unit]
    if want == have:
        return cast_arrow(value, kind)
    if want > have:
        return cast_arrow(times(cast_arrow(value, pa.int64()), want // have), kind)
    number = floor_divide(cast_arrow(value, pa.int64()), have // want)
    return cast_arrow(number, kind)


BEYOND = "with more than 6 digits, the year must be from 1677 to 2262"


def within(value: Any, kind: Any) -> Any:
    """Return dates or timestamps, with NULL for those that a timestamp of ns cannot be."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_timestamp(kind) or kind.unit != "ns":
        return value
    if pa.types.is_date(value.type):
        number, factor = cast_arrow(value, pa.int32()), 86_400 * PER_SECOND["ns"]
    else:
        number, factor = value, PER_SECOND["ns"] // PER_SECOND[value.type.unit]
    number, most = cast_arrow(number, pa.int64()), ((1 << 63) - 1) // factor
    known = pc.and_(pc.greater_equal(number, -most), pc.less_equal(number, most))
    return pc.if_else(known, value, pa.scalar(None, value.type))


def times(number: Any, factor: int) -> Any:
    """Return int64 numbers of a unit of time as those of a finer one.

    Raises:
        SqlError: one does not fit 64 bits.
    """
    return _checked("multiply_checked", number, factor)


def plus(number: Any, other: Any) -> Any:
    """Return the sums of int64 numbers of a unit of time.

    Raises:
        SqlError: one does not fit 64 bits.
    """
    return _checked("add_checked", number, other)


def _checked(function: str, one: Any, other: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return getattr(pc, function)(one, other)
    except pa.ArrowInvalid:
        raise SqlError(f"a timestamp is out of the range of its type: {BEYOND}") from None


def to_precision(value: Any, precision: int, kind: Any) -> Any:
    """Return timestamps with this many digits of a second."""
    import pyarrow as pa
    import pyarrow.compute as pc

    value = to_unit(value, kind)
    step = PER_SECOND[kind.unit] // 10**precision
    if step <= 1:
        return value
    number = cast_arrow(value, pa.int64())
    # As in Flink, less than a millisecond is cut off downwards, and more towards 1970.
    if precision < 3:
        ms = PER_SECOND[kind.unit] // 1000
        number = pc.multiply(floor_divide(number, ms), ms)
        return cast_arrow(pc.multiply(pc.divide(number, step), step), kind)
    return cast_arrow(pc.multiply(floor_divide(number, step), step), kind)


def floor_divide(number: Any, divisor: int) -> Any:
    """Return int64 numbers divided, towards the smaller whole number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    by = pa.scalar(divisor, pa.int64())
    quotient = pc.divide(number, by)
    exact = pc.equal(pc.multiply(quotient, by), number)
    lower = pc.and_(pc.less(number, pa.scalar(0, pa.int64())), pc.invert(exact))
    return pc.subtract(quotient, cast_arrow(lower, pa.int64()))


def convert(value: Any, source: SqlType, target: SqlType, session: Session) -> Any:
    """Return dates, times, timestamps and intervals as another type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = to_arrow(target)
    match source, target:
        case (_, IntegerType()):
            return cast_arrow(value, kind)
        case (_, DecimalType()):
            from headrace.sql.functions.numbers import to_decimal

            return to_decimal(value, target)
        case (TimestampType(), TimestampType() as target) | (
            TimestampLtzType(),
            TimestampLtzType() as target,
        ):
            return to_precision(value, target.precision, kind)
        case (TimestampType(), TimestampLtzType()):
            return to_precision(from_local(value, session), target.precision, kind)
        case (TimestampLtzType(), TimestampType() as target):
            return to_precision(to_local(value, session), target.precision, kind)
        case (TimestampType() | TimestampLtzType(), DateType()):
            days = _days(_local_ms(value, source, session), source)
            return cast_arrow(cast_arrow(days, pa.int32()), kind)
        case (TimestampType() | TimestampLtzType(), TimeType() as target):
            ms = _local_ms(value, source, session)
            rest = pc.subtract(ms, pc.multiply(_days(ms, source), DAY_MS))
            rest = _multiples(rest, target.precision)
            day = pa.scalar(DAY_MS, pa.int64())
            rest = pc.if_else(pc.less(rest, 0), pc.add(rest, day), rest)
            return cast_arrow(cast_arrow(rest, pa.int32()), kind)
        case (DateType(), TimestampType()):
            days = cast_arrow(cast_arrow(value, pa.int32()), pa.int64())
            return cast_arrow(times(days, 86_400 * PER_SECOND[kind.unit]), kind)
        case (DateType() | TimeType(), TimestampLtzType()):
            local = convert(value, source, TimestampType(target.precision), session)
            return from_local(local, session)
        case (TimeType(), TimestampType()):
            number = cast_arrow(cast_arrow(value, pa.int32()), pa.int64())
            return to_unit(cast_arrow(number, pa.timestamp("ms")), kind)
        case (TimeType(), TimeType()):
            return value
    raise AssertionError((source, target))


def cut_time(value: Any, precision: int) -> Any:
    """Return times of day with this many digits of a second."""
    import pyarrow as pa

    number = cast_arrow(cast_arrow(value, pa.int32()), pa.int64())
    return cast_arrow(cast_arrow(_multiples(number, precision), pa.int32()), value.type)


def _multiples(ms: Any, precision: int) -> Any:
    import pyarrow.compute as pc

    step = 10 ** max(3 - precision, 0)
    return pc.multiply(pc.divide(ms, step), step)


def _local_ms(value: Any, source: SqlType, session: Session) -> Any:
    import pyarrow as pa

    if isinstance(source, TimestampLtzType):
        value = to_local(value, session)
    return cast_arrow(to_unit(value, pa.timestamp("ms")), pa.int64())


def _days(ms: Any, source: SqlType) -> Any:
    """Return the days of times in ms; those of a TIMESTAMP are, as in Flink, cut off."""
    import pyarrow.compute as pc

    if isinstance(source, TimestampLtzType):
        return floor_divide(ms, DAY_MS)
    return pc.divide(ms, DAY_MS)
