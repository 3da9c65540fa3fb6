"""Values of columns as the text of Flink's rows: ``java.time`` for times, ``{a=1}`` for maps."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any

from headrace.common._types.java_text import (
    double_text,
    float_text,
    in_java_order,
    instant_text,
    local_time_text,
)
from headrace.common.time import Instant
from headrace.sql.types import (
    ArrayType,
    BytesType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    MapType,
    MonthIntervalType,
    MultisetType,
    RowType,
    SecondIntervalType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    TimeType,
)

Text = Callable[[Any], str]

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def value_text(kind: SqlType) -> Text:
    """Return a function from a column's value, or None, to its text."""
    write = _text_of_type(kind)
    return lambda value: "null" if value is None else write(value)


def _text_of_type(kind: SqlType) -> Text:
    match kind:
        case FloatType():
            return float_text
        case DoubleType():
            return double_text
        case DecimalType():
            return str
        case BytesType():
            return lambda data: f"[{', '.join(str(b - 256 if b > 127 else b) for b in data)}]"
        case DateType():
            return lambda day: str(day.isoformat())
        case TimeType():
            return local_time_text
        case TimestampType():
            return _timestamp_text
        case TimestampLtzType():
            return _moment_text
        case MonthIntervalType():
            return _period_text
        case SecondIntervalType():
            return _duration_text
        case ArrayType():
            element = value_text(kind.element)
            return lambda values: f"[{', '.join(map(element, values))}]"
        case MapType() | MultisetType():
            return _map_text(kind)
        case RowType():
            texts = [value_text(each.type) for each in kind.fields]
            names = [each.name for each in kind.fields]
            return lambda row: _row_text(row_values(row, names), texts)
    return _plain_text


def _plain_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _timestamp_text(moment: datetime.datetime) -> str:
    return f"{moment.date().isoformat()}T{local_time_text(moment)}"


def _moment_text(moment: datetime.datetime) -> str:
    """Return a moment as Java's ``Instant.toString``."""
    seconds = (moment.astimezone(datetime.UTC) - _EPOCH) // datetime.timedelta(seconds=1)
    return instant_text(Instant(seconds, moment.microsecond * 1000))


def _period_text(months: int) -> str:
    years, months = int(months / 12), months - int(months / 12) * 12
    text = (f"{years}Y" if years else "") + (f"{months}M" if months else "")
    return f"P{text or '0D'}"


def _duration_text(millis: int) -> str:
    """Return a number of ms as Java's ``Duration.toString``."""
    if not millis:
        return "PT0S"
    sign, rest = (-1 if millis < 0 else 1), abs(millis)
    hours, rest = divmod(rest, 3_600_000)
    minutes, rest = divmod(rest, 60_000)
    text = (f"{sign * hours}H" if hours else "") + (f"{sign * minutes}M" if minutes else "")
    if rest:
        seconds, fraction = divmod(rest, 1000)
        part = f".{fraction:03d}".rstrip("0") if fraction else ""
        text += f"{'-' if sign < 0 else ''}{seconds}{part}S"
    return f"PT{text}"


def _map_text(kind: MapType | MultisetType) -> Text:
    key = value_text(kind.key if isinstance(kind, MapType) else kind.element)
    value = value_text(kind.value) if isinstance(kind, MapType) else str

    def text(entries: Any) -> str:
        items = map_items(entries)
        if all(isinstance(each, str) for each, _ in items):
            # Flink prints it from a Java map, whose order differs from the query's.
            items = in_java_order(dict(items))
        return f"{{{', '.join(f'{key(k)}={value(v)}' for k, v in items)}}}"

    return text


def _row_text(values: Any, texts: list[Text]) -> str:
    shown = ", ".join([text(value) for text, value in zip(texts, values, strict=True)])
    return f"+I[{shown}]"


def map_items(entries: Any) -> list[tuple[Any, Any]]:
    """Return the entries of a map, which is a dict or pairs."""
    return [*(entries.items() if isinstance(entries, Mapping) else entries)]


def row_values(row: Any, names: list[str]) -> list[Any]:
    """Return the values of a nested row, which is a dict, a ``Row`` or a tuple."""
    if isinstance(row, Mapping):
        return [row.get(name) for name in names]
    return [*row]
