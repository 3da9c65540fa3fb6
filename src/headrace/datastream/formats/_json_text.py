"""Parses and writes JSON, with orjson if it is installed, else with the standard library.

Both give the same values. The exponents of floats may be written differently (1e-8, 1e-08).
"""

from __future__ import annotations

import base64
import datetime
import json
import math
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, NoReturn

from headrace.common.time import Instant
from headrace.common.types import Row
from headrace.datastream.formats._class_hints import fields_reader, is_record_class
from headrace.errors import TypeMismatchError

_ORJSON = find_spec("orjson") is not None
if _ORJSON:
    import orjson

    _WRITE = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_SUBCLASS
    _WRITE |= orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_APPEND_NEWLINE

_DIGITS = bytes(ord("0" if chr(code).isdecimal() else " ") for code in range(128)) + b" " * 128
_LONG_NUMBER = b"0" * 19
"""orjson reads whole numbers of more than 64 bits as floats; those have at least 19 digits. With
all digits made zeros this is found in 0.2 µs in a message of 100 bytes; a pattern takes 1.1."""


def json_parser(decimal: bool) -> Callable[[str], Any]:
    """Return a JSON parser that rejects NaN and Infinity.

    ``decimal`` parses fractions as ``Decimal``.
    """
    return json.JSONDecoder(
        parse_float=Decimal if decimal else None, parse_constant=_refuse_constant
    ).decode


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_PARSE = json_parser(decimal=False)


def parse_json(data: bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: the text is not valid JSON (RFC 8259, so without NaN).
    """
    if _ORJSON and data.translate(_DIGITS).find(_LONG_NUMBER) < 0:
        try:
            return orjson.loads(data)
        except ValueError:
            pass  # the standard library reads more, or raises its own error
    return _PARSE(data.decode())


def parse_all(data: Sequence[bytes]) -> list[Any]:
    """Parse several JSON texts, and return their values in order.

    Raises:
        ValueError: a text is not valid JSON.
    """
    if _ORJSON and b" ".join(data).translate(_DIGITS).find(_LONG_NUMBER) < 0:
        try:
            return [*map(orjson.loads, data)]
        except ValueError:
            pass  # as in parse_json
    return [*map(parse_json, data)]


def write_json(value: Any) -> bytes:
    """Return a record as JSON in UTF-8.

    Raises:
        TypeMismatchError: a value cannot be represented in JSON, or is NaN.
    """
    # orjson's result keeps an extra kilobyte of memory; a slice of it does not.
    return write_line(value)[:-1]


def write_line(value: Any) -> bytes:
    """Return a record as JSON in UTF-8, with a line feed.

    Raises:
        TypeMismatchError: a value cannot be represented in JSON, or is NaN.
    """
    if _ORJSON:
        try:
            line: bytes = orjson.dumps(value, plain_json, _WRITE)
            # orjson writes null for NaN; "in" would take 0.1 µs longer
            if line.find(b"null") < 0 or not _has_nan(value):
                return line
        except TypeError:
            pass  # keys that are not strings, integers of more than 64 bits, or invalid values
    return _write_line_with_stdlib(value)


def _write_line_with_stdlib(value: Any) -> bytes:
    """Write a record as ``write_line`` does, but only with the standard library."""
    try:
        return (_ENCODE(value) + "\n").encode()
    except UnicodeEncodeError:
        # A lone surrogate has no UTF-8 form; escaped, it is valid JSON.
        return (_ENCODE_ASCII(value) + "\n").encode()
    except (TypeError, ValueError, RecursionError) as error:
        if isinstance(error, TypeMismatchError):
            raise
        raise TypeMismatchError(
            f"a record cannot be written as JSON: {error}",
            hint="map the records to dicts, dataclasses, rows, strings and numbers",
        ) from error


def _has_nan(value: Any) -> bool:
    kind: Any = type(value)
    if kind in _WITHOUT_NAN:
        return False
    if kind is float:
        return not math.isfinite(value)
    if kind is dict:
        return any(map(_has_nan, value.values()))
    if kind is list or kind is tuple:
        return any(map(_has_nan, value))
    form = _form_of(kind)
    return form is _without_form or _has_nan(form(value))


def plain_json(value: Any) -> Any:
    """Return the JSON value for an object of another type."""
    kind: Any = type(value)
    return _form_of(kind)(value)


@lru_cache(maxsize=512)
def _form_of(kind: Any) -> Callable[[Any], Any]:
    if is_record_class(kind):
        return fields_reader(kind)
    return next((form for known, form in _FORMS if issubclass(kind, known)), _without_form)


def _without_form(value: Any) -> NoReturn:
    raise TypeError(f"a {type(value).__name__} cannot be represented in JSON: {value!r:.120}")


def _format_decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise ValueError(f"{value} cannot be represented in JSON")
    return format(value, "f")


_FORMS: Sequence[tuple[Any, Callable[[Any], Any]]] = (
    (Instant, Instant.to_epoch_milli),
    (Decimal, _format_decimal),
    (Row, lambda row: row.as_dict() if hasattr(row, "_fields") else list(row)),
    ((datetime.date, datetime.time), lambda moment: moment.isoformat()),
    ((bytes, bytearray), lambda data: base64.b64encode(data).decode()),
    (Enum, lambda member: member.value),
    (uuid.UUID, str),
)
"""By class, in this order: a datetime is a date, too."""
_WITHOUT_NAN = {
    *(type(None), bool, int, str, bytes, Decimal, uuid.UUID),
    *(datetime.date, datetime.datetime, datetime.time, Instant),
}
_SEPARATORS = (",", ":")
_ENCODE = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=_SEPARATORS, default=plain_json
).encode
_ENCODE_ASCII = json.JSONEncoder(allow_nan=False, separators=_SEPARATORS, default=plain_json).encode
