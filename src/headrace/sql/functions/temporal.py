"""Times from texts and numbers, and times as texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from headrace.errors import SqlError
from headrace.sql.expressions import Call
from headrace.sql.functions import date_formats, moments, text_formats
from headrace.sql.functions.function import (
    Function,
    Kernel,
    Session,
    TypeRule,
    table_row,
)
from headrace.sql.functions.kernels import cast_arrow, map_values
from headrace.sql.functions.numbers import to_integer
from headrace.sql.functions.rules import (
    NOT_NULL,
    NULLABLE,
    Parameter,
    a_bigint,
    a_number,
    a_text,
    a_timestamp,
    an_int,
    first_of,
    takes,
)
from headrace.sql.functions.time_zones import java_zone, zone_info
from headrace.sql.types import (
    BIGINT,
    DATE,
    STRING,
    SqlType,
    TimestampLtzType,
    TimestampType,
    to_arrow,
)

_STAMP = TimestampType(3)
_MOMENT = TimestampLtzType(3)
_UNREADABLE = -(1 << 63)
"""What UNIX_TIMESTAMP gives, as in Flink, for a text that is no time."""


def read_lenient(text: str) -> int:
    """Return the local time that a text says in one of the usual forms (ns since the epoch)."""
    return text_formats.read_timestamp_ns(text)


def read_strict(text: str) -> int:
    """Return the local time that a text with a day and a time says (ns since the epoch)."""
    whole, _, fraction = text.partition(".")
    seconds = date_formats.read_simple(whole, date_formats.DEFAULT)
    return seconds + int(fraction.ljust(9, "0") or 0)


def _or_null(read: Callable[..., int]) -> Callable[..., int | None]:
    def safe(*arguments: str) -> int | None:
        try:
            return read(*arguments)
        except (ValueError, OverflowError):
            return None

    return safe


def _read(text: str, pattern: str | None = None) -> int:
    if pattern is None:
        return read_lenient(text)
    return date_formats.read_or_jdbc(text, pattern)


def _local_ms(arguments: Sequence[Any], read: Callable[..., int] = _read) -> Any:
    """Return texts, with patterns, as local timestamps in ms; NULL if a text is not one."""
    import pyarrow as pa

    def milliseconds(*values: str) -> int:
        return read(*values) // 1_000_000

    found = map_values(_or_null(milliseconds), arguments, pa.int64())
    return cast_arrow(found, pa.timestamp("ms"))


def _date_format(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    value, pattern = arguments
    match call.arguments[0].type:
        case TimestampLtzType():
            value = moments.to_local(value, session)
        case TimestampType():
            pass
        case _:
            value = _local_ms([value], read_strict)
    return date_formats.write_all(value, pattern)


def _to_date(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow as pa

    def days(text: str, pattern: str | None = None) -> int:
        if pattern is None:
            return text_formats.read_date(text).toordinal() - 719_163
        return date_formats.read_simple(text, pattern) // text_formats.DAY_NS

    return cast_arrow(map_values(_or_null(days), arguments, pa.int32()), pa.date32())


def _to_timestamp(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    return _local_ms(arguments)


_FIRST_MS = -62_167_219_200_000
_LAST_MS = 253_402_300_799_999
"""The moments of the years 0 to 9999; others are NULL."""


def _to_timestamp_ltz(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    first, *rest = arguments
    if pa.types.is_string(first.type):
        if not rest:
            return moments.in_zone(map_values(_read_or_fail, arguments, pa.timestamp("ms")), "UTC")
        if len(rest) < 2:
            return moments.in_zone(_local_ms(arguments), "UTC")
        return map_values(_in_named_zone, arguments, to_arrow(call.type))
    precision = rest[0].as_py() if rest else 3
    if precision not in (0, 3):
        raise SqlError(f"TO_TIMESTAMP_LTZ has precision 0 or 3, not {precision}")
    factor = 1000 if precision == 0 else 1
    if pa.types.is_floating(first.type):
        first = pc.multiply(cast_arrow(first, pa.float64()), float(factor))
        factor = 1
    number = to_integer(first, pa.int64())
    low, high = -(-_FIRST_MS // factor), _LAST_MS // factor
    known = pc.and_(pc.greater_equal(number, low), pc.less_equal(number, high))
    number = pc.if_else(known, number, pa.scalar(None, pa.int64()))
    return cast_arrow(pc.multiply(number, factor), to_arrow(call.type))


def _read_or_fail(text: str) -> int:
    """Return a local time in ms; as in Flink, a text that is no time is an error."""
    try:
        return read_lenient(text) // 1_000_000
    except (ValueError, OverflowError):
        raise SqlError(
            f"TO_TIMESTAMP_LTZ: {text!r} is not a timestamp",
            hint="with a pattern, TO_TIMESTAMP_LTZ(text, pattern) gives NULL",
        ) from None


def _in_named_zone(text: str, pattern: str, zone: str) -> datetime | None:
    ns = _or_null(_read)(text, pattern)
    if ns is None:
        return None
    import pyarrow as pa

    zone_info(zone)
    local = pa.array([ns // 1_000_000], pa.timestamp("ms"))
    found: datetime = moments.in_zone(local, zone)[0].as_py()
    return found


def _convert_tz(text: str, source: str, target: str) -> str | None:
    import pyarrow as pa

    ns = _or_null(read_strict)(text)
    if ns is None:
        return None
    start, end = java_zone(source), java_zone(target)
    stamp = pa.array([ns // 1_000_000], pa.timestamp("ms"))
    moment = moments.in_zone(stamp, start, twice="latest")
    local = moments.to_local(moment, Session(time_zone=end))
    return date_formats.write(local.cast(pa.int64())[0].as_py() * 1_000_000, date_formats.DEFAULT)


def _convert(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow as pa

    return map_values(_convert_tz, arguments, pa.string())


def _unix_timestamp(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not arguments:
        return pa.scalar(session.now_ms // 1000, pa.int64())

    def read(text: str, pattern: str = date_formats.DEFAULT) -> int:
        return date_formats.read_simple(text, pattern)

    local = _local_ms(arguments, read)
    # As in Flink, a time that occurs twice is the later one.
    moment = cast_arrow(moments.in_zone(local, session.time_zone, twice="latest"), pa.int64())
    seconds = moments.floor_divide(moment, 1000)
    given = arguments[0]
    for each in arguments[1:]:
        given = pc.if_else(pc.is_valid(each), given, pa.scalar(None, given.type))
    unreadable = pc.and_(pc.is_valid(given), pc.is_null(seconds))
    return pc.if_else(unreadable, pa.scalar(_UNREADABLE, pa.int64()), seconds)


def _from_unixtime(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    number, *rest = arguments
    pattern = rest[0] if rest else pa.scalar(date_formats.DEFAULT)
    moment = cast_arrow(pc.multiply(number, 1000), pa.timestamp("ms", "UTC"))
    return date_formats.write_all(moments.to_local(moment, session), pattern)


def _text_or_timestamp(kind: SqlType) -> SqlType | None:
    return a_text(kind) or a_timestamp(kind)


def _moment_rule(*parameters: Parameter, optional: int = 0) -> Any:
    return takes(*parameters, gives=_MOMENT, nulls=NULLABLE, optional=optional)


def _row(
    name: str, types: TypeRule, kernel: Kernel, form: str, about: str, *examples: tuple[str, str]
) -> Function:
    return table_row(name, types, kernel, form, about, *examples, of_session=True)


FUNCTIONS = (
    _row(
        "DATE_FORMAT",
        takes(_text_or_timestamp, a_text, gives=STRING, nulls=NULLABLE),
        _date_format,
        "DATE_FORMAT(timestamp, pattern)",
        "The timestamp as text, in a pattern of Java's, such as yyyy-MM-dd HH:mm:ss.",
        ("DATE_FORMAT(TIMESTAMP '2020-02-29 10:11:12', 'dd.MM.yyyy')", "29.02.2020"),
    ),
    _row(
        "TO_DATE",
        takes(a_text, a_text, gives=DATE, nulls=NULLABLE, optional=1),
        _to_date,
        "TO_DATE(string [, pattern])",
        "The date in the text; NULL if it is not a date.",
        ("TO_DATE('29/02/2020', 'dd/MM/yyyy')", "2020-02-29"),
    ),
    _row(
        "TO_TIMESTAMP",
        takes(a_text, a_text, gives=_STAMP, nulls=NULLABLE, optional=1),
        _to_timestamp,
        "TO_TIMESTAMP(string [, pattern])",
        "The timestamp in the text; NULL if it is not a timestamp.",
        ("TO_TIMESTAMP('2020-02-29 10:11:12')", "2020-02-29T10:11:12"),
    ),
    replace(
        _row(
            "TO_TIMESTAMP_LTZ",
            first_of(
                _moment_rule(a_number, an_int, optional=1),
                _moment_rule(a_text, a_text, a_text, optional=2),
            ),
            _to_timestamp_ltz,
            "TO_TIMESTAMP_LTZ(number [, precision])"
            " | TO_TIMESTAMP_LTZ(string [, pattern [, zone]])",
            "The moment of a number of ms (precision 3) or s (0) since the epoch, or of a text.",
            ("TO_TIMESTAMP_LTZ(1600000000, 0)", "2020-09-13T12:26:40Z"),
        ),
        can_fail=lambda call: len(call.arguments) == 1,
    ),
    _row(
        "UNIX_TIMESTAMP",
        first_of(
            takes(gives=BIGINT, nulls=NOT_NULL), takes(a_text, a_text, gives=BIGINT, optional=1)
        ),
        _unix_timestamp,
        "UNIX_TIMESTAMP() | UNIX_TIMESTAMP(string [, pattern])",
        "The seconds since the epoch, now or of a text.",
        ("UNIX_TIMESTAMP('2020-02-29 10:11:12')", "1582967472"),
    ),
    _row(
        "FROM_UNIXTIME",
        takes(a_bigint, a_text, gives=STRING, nulls=NULLABLE, optional=1),
        _from_unixtime,
        "FROM_UNIXTIME(seconds [, pattern])",
        "The text of a time in seconds since the epoch, in the session's time zone.",
        ("FROM_UNIXTIME(1600000000)", "2020-09-13 14:26:40"),
    ),
    _row(
        "CONVERT_TZ",
        takes(a_text, a_text, a_text, gives=STRING, nulls=NULLABLE),
        _convert,
        "CONVERT_TZ(string, zone1, zone2)",
        "The text of a time of zone1 as the text of the same moment in zone2.",
        ("CONVERT_TZ('1970-01-01 00:00:00', 'UTC', 'America/Los_Angeles')", "1969-12-31 16:00:00"),
    ),
)
