"""Functions that make JSON texts of values."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from headrace.errors import SqlError
from headrace.sql.expressions import Call, Expression
from headrace.sql.functions import json_paths
from headrace.sql.functions.function import Function, Session, Signature
from headrace.sql.functions.json_reading import on_event
from headrace.sql.functions.kernels import map_values, python, rows_of
from headrace.sql.functions.rules import NOT_NULL, NULLABLE, a_text, anything, takes
from headrace.sql.functions.text_formats import java_double
from headrace.sql.types import (
    STRING,
    ArrayType,
    CharacterType,
    DoubleType,
    FloatType,
    MapType,
    RowType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    to_arrow,
)

_JSON_CALLS = frozenset(("JSON_OBJECT", "JSON_ARRAY", "JSON"))


def as_json(value: Any, kind: SqlType) -> Any:
    """Return a Python value of a type as one that ``json_paths.write`` takes."""
    if value is None:
        return None
    match kind:
        case FloatType() | DoubleType():
            if value != value or value in (float("inf"), float("-inf")):
                return java_double(value, isinstance(kind, FloatType))
            return Decimal(java_double(value)) if value else Decimal("0.0")
        case ArrayType():
            return [as_json(each, kind.element) for each in value]
        case MapType():
            pairs = ((_key(key, kind.key), as_json(each, kind.value)) for key, each in value)
            return dict(sorted(pairs, key=lambda pair: pair[0]))
        case RowType():
            fields = sorted(kind.fields, key=lambda each: each.name)
            return {each.name: as_json(value[each.name], each.type) for each in fields}
        case TimestampType():
            return _stamp(value)
        case TimestampLtzType():
            return _stamp(value.replace(tzinfo=None)) + "Z"
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, bool | int | str | Decimal):
        return value
    return value.isoformat()


def _stamp(value: datetime) -> str:
    text = value.isoformat("T")
    return text.rstrip("0") if value.microsecond else text


def _key(value: Any, kind: SqlType) -> str:
    return value if isinstance(value, str) else json_paths.write(as_json(value, kind))


def _json_string(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    kind = call.arguments[0].type
    return map_values(
        lambda value: json_paths.write(as_json(value, kind)), arguments, to_arrow(call.type)
    )


def _inside(expression: Expression) -> Callable[[Any], Any]:
    """Return what makes a part of an object or array of an expression's value."""
    if isinstance(expression, Call) and expression.function in _JSON_CALLS:
        return lambda value: None if value is None else json_paths.RawJson(value)
    return lambda value: as_json(value, expression.type)


def _object_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    keys = arguments[::2]
    if len(arguments) % 2 or any(not isinstance(each.type, CharacterType) for each in keys):
        return None
    return Signature(tuple(each.type for each in arguments), STRING.with_nullable(False))


def _json_object(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    absent = on_event(call.options, "NULL", "NULL") == "ABSENT"
    parts = [_inside(each) for each in call.arguments[1::2]]

    def make(*values: Any) -> str:
        pairs = zip(values[::2], values[1::2], parts, strict=True)
        made = {key: part(value) for key, value, part in pairs if not (absent and value is None)}
        return json_paths.write(dict(sorted(made.items())))

    return _made(make, call, arguments)


def _made(make: Callable[..., str], call: Call, arguments: Sequence[Any]) -> Any:
    import pyarrow as pa

    if rows_of(arguments) is None:
        return pa.scalar(make(*(each.as_py() for each in arguments)), pa.string())
    return map_values(make, arguments, to_arrow(call.type), nulls=True)


def _json_array(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    absent = on_event(call.options, "NULL", "ABSENT") == "ABSENT"
    parts = [_inside(each) for each in call.arguments]

    def make(*values: Any) -> str:
        made = [
            part(value)
            for value, part in zip(values, parts, strict=True)
            if not (absent and value is None)
        ]
        return json_paths.write(made)

    return _made(make, call, arguments)


def _json(text: str) -> str | None:
    if not text.strip():
        return None
    try:
        return json_paths.write(json_paths.in_order(json_paths.parse(text)))
    except ValueError as error:
        raise SqlError(f"JSON() of a text that is not JSON: {error}") from None


FUNCTIONS = (
    Function(
        "JSON_STRING",
        takes(anything, gives=STRING),
        _json_string,
        ("JSON_STRING(value)",),
        "The value as JSON.",
        (("JSON_STRING(ARRAY[1, 2])", "[1,2]"),),
    ),
    Function(
        "JSON_OBJECT",
        _object_rule,
        _json_object,
        ("JSON_OBJECT([[KEY] key VALUE value, ...] [{NULL | ABSENT} ON NULL])",),
        "A JSON object.",
        (("JSON_OBJECT('a' VALUE 1)", '{"a":1}'),),
    ),
    Function(
        "JSON_ARRAY",
        takes(anything, gives=STRING, nulls=NOT_NULL, optional=1, repeated=True),
        _json_array,
        ("JSON_ARRAY([value, ...] [{NULL | ABSENT} ON NULL])",),
        "A JSON array.",
        (("JSON_ARRAY(1, 'a')", '[1,"a"]'),),
    ),
    Function(
        "JSON",
        takes(a_text, gives=STRING, nulls=NULLABLE),
        python(_json),
        ("JSON(string)",),
        "A text that is JSON, as a value of JSON_OBJECT or JSON_ARRAY only.",
        (("JSON_ARRAY(JSON('{\"a\": 1}'))", '[{"a":1}]'),),
        can_fail=True,
    ),
)
