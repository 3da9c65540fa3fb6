"""Converters between JSON and values of declared types."""

from __future__ import annotations

import base64
import datetime
import json
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any

from headrace.common.time import Instant
from headrace.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    ExternalTypeInfo,
    MapTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from headrace.common.types import row_of
from headrace.errors import PlanError, TypeMismatchError

FromJson = Callable[[Any], Any]
ToText = Callable[[Any], str]

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())


def element_type(type_info: TypeInformation) -> TypeInformation | None:
    """Return the element type of a list or an array type, or None for other types."""
    found = getattr(type_info, "_element_type", None)
    return found if isinstance(found, TypeInformation) else None


def from_json(type_info: TypeInformation, fail_on_missing: bool = False) -> FromJson:
    """Return a function from parsed JSON (fractions as ``Decimal``) to a value of the type.

    It raises ``ValueError`` for a value that does not fit. Rows are objects with the fields' names,
    tuples are arrays, bytes base64, times ISO 8601; a timestamp with an offset is converted to UTC.
    """
    convert = _from_json(type_info, fail_on_missing)
    coerce = type_info.coercer()

    def read(value: Any) -> Any:
        if value is None:
            return None
        try:
            result = convert(value)
            return result if coerce is None else coerce(result)
        except (TypeMismatchError, TypeError, AttributeError, ArithmeticError) as error:
            raise ValueError(_describe_mismatch(error, value, type_info)) from error

    return read


def _describe_mismatch(error: Exception, value: Any, type_info: TypeInformation) -> str:
    if isinstance(error, TypeMismatchError):
        field = error.where.get("field")
        return f"{error.message}{f' (field {field})' if field else ''}"
    return f"{value!r:.80} is no {type_info}"


def _from_json(type_info: TypeInformation, fail_on_missing: bool) -> FromJson:
    if isinstance(type_info, ExternalTypeInfo):
        return _from_json(type_info._arguments()[0], fail_on_missing)
    if isinstance(type_info, RowTypeInfo):
        return _row_from_json(type_info, fail_on_missing)
    if type_info == _BYTES:
        return lambda text: base64.b64decode(text, validate=True)
    if isinstance(type_info, TupleTypeInfo):
        parts = [from_json(part, fail_on_missing) for part in type_info.get_field_types()]
        return lambda values: tuple(
            read(value) for read, value in zip(parts, _check_array(values), strict=True)
        )
    if isinstance(type_info, MapTypeInfo):
        key, item = (from_json(part, fail_on_missing) for part in type_info._arguments())
        return lambda entries: {key(name): item(value) for name, value in entries.items()}
    element = element_type(type_info)
    if element is not None:
        read_element = from_json(element, fail_on_missing)
        return lambda values: [read_element(value) for value in _check_array(values)]
    return scalar_from_json(type_info)


def _check_array(value: Any) -> list[Any]:
    if type(value) is not list:
        raise TypeError
    return value


def _row_from_json(type_info: RowTypeInfo, fail_on_missing: bool) -> FromJson:
    names = tuple(type_info.get_field_names())
    reads = [from_json(part, fail_on_missing) for part in type_info.get_field_types()]
    fields = list(zip(names, reads, strict=True))

    def read(value: Any) -> Any:
        get = value.get
        if fail_on_missing:
            missing = [name for name in names if name not in value]
            if missing:
                raise ValueError(f"the field {missing[0]!r} is missing")
        return row_of(names, [convert(get(name)) for name, convert in fields])

    return read


def scalar_from_json(type_info: TypeInformation) -> FromJson:
    """Return a function from a JSON scalar, or its text, to a scalar value.

    Raises:
        PlanError: JSON and CSV have no form for this type.
    """
    if isinstance(type_info, PickledBytesTypeInfo):
        return lambda value: value
    if isinstance(type_info, BasicTypeInfo):
        return _BASIC[type_info._basic_type]
    found = _TIMES.get(str(type_info))
    if found is None:
        raise PlanError(f"values of type {type_info} cannot be read from text")
    return found


def _to_str(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | Decimal) else json.dumps(value, default=str)


def _to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}[value.strip().lower()]


def _boolean_or_error(value: Any) -> bool:
    try:
        return _to_bool(value)
    except KeyError:
        raise ValueError(f"{value!r:.80} is neither true nor false") from None


def _to_int(value: Any) -> int:
    if type(value) is int:
        return value
    if isinstance(value, Decimal):
        if value != value.to_integral_value():
            raise ValueError(f"{value} is no whole number")
        return int(value)
    if not isinstance(value, str):
        raise TypeError
    return int(value)


def _to_float(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError
    return float(value)


def _to_decimal(value: Any) -> Decimal:
    if isinstance(value, bool):
        raise TypeError
    number = Decimal(value.strip() if isinstance(value, str) else value)
    if not number.is_finite():
        raise ValueError(f"{value} is no decimal number")
    return number


def _to_instant(value: Any) -> Instant:
    moment = datetime.datetime.fromisoformat(value)
    if moment.tzinfo is None:
        raise ValueError(f"{value!r:.80} has no offset from UTC")
    micros = (moment - _EPOCH) // datetime.timedelta(microseconds=1)
    return Instant(micros // 1_000_000, micros % 1_000_000 * 1000)


def _to_timestamp(value: Any) -> datetime.datetime:
    moment = datetime.datetime.fromisoformat(value)
    if moment.tzinfo is None:
        return moment
    return moment.astimezone(datetime.UTC).replace(tzinfo=None)


def _to_time(value: Any) -> datetime.time:
    return datetime.time.fromisoformat(value).replace(tzinfo=None)


_BASIC: dict[BasicType, FromJson] = {
    BasicType.STRING: _to_str,
    BasicType.CHAR: _to_str,
    BasicType.BOOLEAN: _boolean_or_error,
    BasicType.BYTE: _to_int,
    BasicType.SHORT: _to_int,
    BasicType.INT: _to_int,
    BasicType.LONG: _to_int,
    BasicType.BIG_INT: _to_int,
    BasicType.FLOAT: _to_float,
    BasicType.DOUBLE: _to_float,
    BasicType.BIG_DEC: _to_decimal,
    BasicType.INSTANT: _to_instant,
}
_TIMES: dict[str, FromJson] = {
    "SQL_DATE": datetime.date.fromisoformat,
    "LOCAL_DATE": datetime.date.fromisoformat,
    "SQL_TIME": _to_time,
    "LOCAL_TIME": _to_time,
    "SQL_TIMESTAMP": _to_timestamp,
    "LOCAL_DATE_TIME": _to_timestamp,
}


def to_text(type_info: TypeInformation) -> ToText:
    """Return a function from a value of the type (or None) to its JSON text.

    Decimals stay exact.
    """
    write = _to_text(type_info)
    return lambda value: "null" if value is None else write(value)


def _to_text(type_info: TypeInformation) -> ToText:
    if isinstance(type_info, ExternalTypeInfo):
        return _to_text(type_info._arguments()[0])
    if isinstance(type_info, RowTypeInfo):
        keys = [encode_basestring(name) + ":" for name in type_info.get_field_names()]
        writes = [to_text(part) for part in type_info.get_field_types()]
        return lambda row: "{" + ",".join(_write_parts(keys, writes, row)) + "}"
    if type_info == _BYTES:
        return lambda value: '"' + base64.b64encode(value).decode() + '"'
    if isinstance(type_info, TupleTypeInfo):
        parts = [to_text(part) for part in type_info.get_field_types()]
        return lambda values: "[" + ",".join(_write_parts([""] * len(parts), parts, values)) + "]"
    if isinstance(type_info, MapTypeInfo):
        key, item = (to_text(part) for part in type_info._arguments())
        return lambda entries: (
            "{" + ",".join(f"{_as_key(key(k))}:{item(v)}" for k, v in entries.items()) + "}"
        )
    element = element_type(type_info)
    if element is not None:
        write = to_text(element)
        return lambda values: "[" + ",".join(map(write, values)) + "]"
    return _scalar_to_text(type_info)


def _write_parts(keys: Sequence[str], writes: Sequence[ToText], values: Sequence[Any]) -> list[str]:
    return [key + write(value) for key, write, value in zip(keys, writes, values, strict=True)]


def _as_key(text: str) -> str:
    return text if text.startswith('"') else encode_basestring(text)


def _scalar_to_text(type_info: TypeInformation) -> ToText:
    if isinstance(type_info, PickledBytesTypeInfo):
        return lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if isinstance(type_info, BasicTypeInfo):
        kind = type_info._basic_type
        if kind in (BasicType.STRING, BasicType.CHAR):
            return encode_basestring
        if kind is BasicType.BOOLEAN:
            return lambda value: "true" if value else "false"
        if kind in (BasicType.FLOAT, BasicType.DOUBLE):
            return _floating_text
        return (lambda value: f'"{type_info.format(value)}"') if kind is BasicType.INSTANT else str
    if str(type_info) not in _TIMES or isinstance(type_info, PrimitiveArrayTypeInfo):
        raise PlanError(f"values of type {type_info} cannot be written as text")
    return _time_text


def _floating_text(value: float) -> str:
    return repr(value) if math.isfinite(value) else f'"{value}"'


def _time_text(value: Any) -> str:
    # A timestamp without an offset is in UTC and gets a "Z", as Flink writes SQL timestamps.
    if isinstance(value, datetime.datetime):
        return f'"{_in_utc(value).isoformat()}Z"'
    return f'"{value.isoformat()}"'


def _in_utc(value: datetime.datetime) -> datetime.datetime:
    if value.tzinfo is None:
        return value
    return value.astimezone(datetime.UTC).replace(tzinfo=None)
