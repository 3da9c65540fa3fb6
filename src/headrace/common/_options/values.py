"""Parsing of configuration values, given as text or as Python values.

Functions raise ``ValueError`` with what they expect ("a whole number"); the caller adds the key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import Enum
from fractions import Fraction
from typing import Any

from headrace.common._time_zones import normalized
from headrace.common.time import Duration, Time, milliseconds_of


class ValueKind(Enum):
    """The type of an option's values."""

    STRING = "string"
    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    DOUBLE = "double"
    DURATION = "duration"
    MEMORY = "memory size"
    CHOICE = "one of"
    LIST = "list"
    MAP = "map"
    TIME_ZONE = "time zone"


_UNITS_NS: dict[str, int] = {
    unit: nanos
    for units, nanos in (
        ("d day days", 86_400_000_000_000),
        ("h hour hours", 3_600_000_000_000),
        ("m min minute minutes", 60_000_000_000),
        ("s sec secs second seconds", 1_000_000_000),
        ("ms milli millis millisecond milliseconds", 1_000_000),
        ("µs us micro micros microsecond microseconds", 1000),
        ("ns nano nanos nanosecond nanoseconds", 1),
    )
    for unit in units.split()
}

_UNITS_BYTES: dict[str, int] = {
    unit: size
    for units, size in (
        ("b byte bytes", 1),
        ("k kb kib kibibytes", 1 << 10),
        ("m mb mib mebibytes", 1 << 20),
        ("g gb gib gibibytes", 1 << 30),
        ("t tb tib tebibytes", 1 << 40),
    )
    for unit in units.split()
}

_AMOUNT = re.compile(r"(\d+)\s*([a-zµ]*)", re.IGNORECASE)
_ISO_DURATION = re.compile(
    r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.IGNORECASE
)


def parse(kind: ValueKind, value: Any, choices: Sequence[str] = ()) -> Any:
    """Return a value in the type of its kind; durations as int ms, sizes as int bytes.

    Raises:
        ValueError: the value cannot be parsed.
    """
    match kind:
        case ValueKind.STRING:
            return _parse_string(value)
        case ValueKind.BOOLEAN:
            return _parse_boolean(value)
        case ValueKind.INT:
            return _parse_integer(value, 32)
        case ValueKind.LONG:
            return _parse_integer(value, 64)
        case ValueKind.DOUBLE:
            return _parse_double(value)
        case ValueKind.DURATION:
            return _duration_ms(value)
        case ValueKind.MEMORY:
            return _size_bytes(value)
        case ValueKind.CHOICE:
            return _parse_choice(value, choices)
        case ValueKind.LIST:
            return _parse_list(value)
        case ValueKind.MAP:
            return _parse_map(value)
        case ValueKind.TIME_ZONE:
            return _parse_time_zone(value)


def text_of(value: Any) -> str:
    """Return the value in the syntax of Flink's configuration files; ``parse`` is the inverse."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, timedelta | Duration | Time):
        return f"{milliseconds_of(value)} ms"
    if isinstance(value, Mapping):
        return ",".join(f"{_quote(key, ',:')}:{_quote(item, ',:')}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ";".join(_quote(element, ";") for element in value)
    if isinstance(value, bytes | bytearray):
        return value.decode("latin-1")
    if isinstance(value, Enum):
        return str(value.name)
    return str(value)


def split_list(text: str) -> list[str]:
    """Return the elements of ``a;b;c``, ``[a, b, c]``, or lines that begin with ``- ``."""
    text = text.strip()
    if not text:
        return []
    if text.startswith("[") and text.endswith("]"):
        return _split(text[1:-1], ",")
    if text.startswith("- "):
        return [_unquote(line.strip()[2:].strip()) for line in text.splitlines() if line.strip()]
    return _split(text, ";")


def _parse_string(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a string")
    return value


def _parse_boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    raise ValueError("true or false")


def _parse_integer(value: Any, bits: int) -> int:
    if isinstance(value, str):
        try:
            value = int(value.strip())
        except ValueError:
            raise ValueError("a whole number") from None
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("a whole number")
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise ValueError(f"a whole number of {bits} bits")
    return value


def _parse_double(value: Any) -> float:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except ValueError:
            pass  # raised below
    raise ValueError("a number")


def _duration_ms(value: Any) -> int:
    if isinstance(value, timedelta | Duration | Time):
        return milliseconds_of(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        text = value.strip()
        if amount := _AMOUNT.fullmatch(text):
            number, unit = amount.groups()
            nanos = _UNITS_NS.get(unit.lower() or "ms")
            if nanos is not None:
                return int(number) * nanos // 1_000_000
        elif len(text) > 2 and (iso := _ISO_DURATION.fullmatch(text)):
            days, hours, minutes, seconds = iso.groups()
            minutes_in_all = (int(days or 0) * 24 + int(hours or 0)) * 60 + int(minutes or 0)
            return minutes_in_all * 60_000 + int(Fraction(seconds or 0) * 1000)
    raise ValueError("a duration such as '5 s', '200 ms', '1 min', a timedelta, or an int of ms")


def _size_bytes(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str) and (amount := _AMOUNT.fullmatch(value.strip())):
        number, unit = amount.groups()
        size = _UNITS_BYTES.get(unit.lower() or "b")
        if size is not None:
            return int(number) * size
    raise ValueError("a size such as '64 mb', '16 kb', or an int of bytes")


def _parse_choice(value: Any, choices: Sequence[str]) -> str:
    text = value.name if isinstance(value, Enum) else value
    if isinstance(text, str):
        normalized = text.strip().lower().replace("_", "-")
        for choice in choices:
            if choice.lower().replace("_", "-") == normalized:
                return choice
    raise ValueError(f"one of {', '.join(choices)}")


def _parse_list(value: Any) -> list[str]:
    if isinstance(value, list | tuple):
        return [text_of(element) for element in value]
    if isinstance(value, str):
        return split_list(value)
    raise ValueError("a list such as 'a;b;c'")


def _parse_map(value: Any) -> dict[str, str]:
    if isinstance(value, Mapping):
        return {str(key): text_of(item) for key, item in value.items()}
    if isinstance(value, str):
        text = value.strip()
        if text.startswith("{") and text.endswith("}"):
            text = text[1:-1]
        result = {}
        for entry in _split(text, ",", quote_after=":", unquote=False):
            pair = _split(entry, ":", at_most=1)
            if len(pair) != 2:
                break
            result[pair[0]] = pair[1]
        else:
            return result
    raise ValueError("a map such as 'key1:value1,key2:value2', or a dict")


def _parse_time_zone(value: Any) -> str:
    if isinstance(value, str):
        try:
            return value if value == "default" else normalized(value)
        except ValueError:
            pass  # raised below
    raise ValueError("a time zone such as 'Europe/Warsaw', 'GMT-03:00' or 'UTC'")


def _quote(value: Any, special: str) -> str:
    text = text_of(value)
    plain = text and text == text.strip() and text[0] not in "[{-"
    if plain and not any(char in text for char in f"{special}'\""):
        return text
    return "'" + text.replace("'", "''") + "'"


def _unquote(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1].replace(text[0] * 2, text[0])
    return text


def _split(
    text: str, separator: str, *, quote_after: str = "", at_most: int = -1, unquote: bool = True
) -> list[str]:
    """Split text at the separators outside quotes.

    A quote opens at the beginning of a part, or right after a character of ``quote_after``;
    inside quotes it is doubled. Text is split at most ``at_most`` times.
    """
    parts: list[str] = []
    start, quote, may_open = 0, "", True
    position = 0
    while position < len(text):
        char = text[position]
        if quote:
            if char == quote and text[position + 1 : position + 2] == quote:
                position += 1
            elif char == quote:
                quote = ""
        elif char in "'\"" and may_open:
            quote = char
        elif char == separator and at_most != len(parts):
            parts.append(text[start:position])
            start = position + 1
        may_open = char == separator or char in quote_after or (may_open and char.isspace())
        position += 1
    if text.strip():
        parts.append(text[start:])
    stripped = [part.strip() for part in parts]
    return [_unquote(part) for part in stripped] if unquote else stripped
