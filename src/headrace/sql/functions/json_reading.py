"""Functions that read JSON texts by paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from headrace.errors import SqlError, SqlValidationError
from headrace.sql.coercion import same_type
from headrace.sql.expressions import Call, Expression, Literal
from headrace.sql.functions import json_paths
from headrace.sql.functions.function import Function, Session, Signature
from headrace.sql.functions.kernels import map_values
from headrace.sql.functions.rules import NOT_NULL, a_text, takes
from headrace.sql.types import (
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
    ArrayType,
    CharacterType,
    DoubleType,
    IntegerType,
    SqlType,
    to_arrow,
)


def on_event(options: Sequence[str], event: str, otherwise: str) -> str:
    """Return what is done ON EMPTY, ON ERROR, or ON NULL."""
    end = f" ON {event}"
    return next((each[: -len(end)] for each in options if each.endswith(end)), otherwise)


def _path_rule(result: SqlType, most: int) -> Callable[..., Signature | None]:
    """Return the rule of a function of a text and a path, with values of DEFAULT after them."""

    def rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
        if not 2 <= len(arguments) <= most:
            return None
        types = [a_text(each.type) for each in arguments[:2]]
        if None in types:
            return None
        path = arguments[1]
        if isinstance(path, Literal) and isinstance(path.value, str):
            try:
                json_paths.read_path(path.value)
            except SqlError as error:
                raise SqlValidationError(error.message, hint=error.hint) from None
        types += [each.type for each in arguments[2:]]
        known = tuple(each for each in types if each is not None)
        return Signature(known, result)

    return rule


def returning(call: Call, target: SqlType) -> Expression:
    """Return a call of JSON_VALUE or JSON_QUERY with RETURNING a type."""
    allowed: tuple[SqlType, ...] = (STRING, BOOLEAN, INT, DOUBLE)
    if call.function == "JSON_QUERY":
        allowed = (STRING, ArrayType(STRING))
    if not any(same_type(target, each) for each in allowed):
        names = ", ".join(each.summary for each in allowed)
        raise SqlValidationError(
            f"{call.function} cannot return {target.summary}", where={"types": names}
        )
    if isinstance(target, ArrayType):
        for each in call.options:
            if each.startswith("EMPTY OBJECT"):
                raise SqlValidationError(f"{each}: JSON_QUERY returns {target.summary}")
    return replace(call, type=target.with_nullable(True))


def _outcome(text: str, path: json_paths.Path) -> tuple[str, Any]:
    """Return FOUND, EMPTY or ERROR, and the value."""
    try:
        value = json_paths.parse(text)
    except ValueError:
        return ("ERROR" if path.strict else "EMPTY"), None
    if value is None and path.steps:
        return "ERROR", None
    found, value = json_paths.follow(value, path)
    if found:
        return "FOUND", value
    return ("ERROR" if path.strict else "EMPTY"), None


def _chosen(options: Sequence[str], event: str, defaults: Sequence[Any], name: str) -> Any:
    """Return the value of what is done ON EMPTY or ON ERROR."""
    action = on_event(options, event, "NULL")
    match action:
        case "ERROR":
            what = "no value" if event == "EMPTY" else "no value of the kind that is asked for"
            raise SqlError(f"{name}: the path leads to {what}")
        case "DEFAULT":
            given = [each for each in options if each.startswith("DEFAULT ")]
            return defaults[given.index(f"DEFAULT ON {event}")]
        case "EMPTY ARRAY":
            return []
        case "EMPTY OBJECT":
            return {}
    return None


def _json_value(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    options, target = call.options, call.type

    def value(text: str | None, spec: str | None, *defaults: Any) -> Any:
        if text is None or spec is None:
            return None
        path = json_paths.read_path(spec)
        outcome, found = _outcome(text, path)
        if outcome == "FOUND" and (found is None or isinstance(found, dict | list)):
            outcome = "ERROR" if path.strict and found is not None else "EMPTY"
        if outcome != "FOUND":
            return _scalar(_chosen(options, outcome, defaults, "JSON_VALUE"), target)
        return _scalar(found, target)

    return map_values(value, arguments, to_arrow(target), nulls=True)


def _scalar(value: Any, target: SqlType) -> Any:
    """Return a value of JSON as a type."""
    if value is None:
        return None
    match target:
        case CharacterType():
            return value if isinstance(value, str) else json_paths.write(value)
        case DoubleType() if isinstance(value, int | float | Decimal) and value is not True:
            return float(value)
        case IntegerType() if isinstance(value, int) and not isinstance(value, bool):
            return value
        case _ if isinstance(value, bool) and target == BOOLEAN:
            return value
    raise SqlError(f"the JSON value {json_paths.write(value)} is not a {target.summary}")


def _json_query(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    options, target = call.options, call.type
    wrapper = next((each for each in options if each.endswith("WRAPPER")), "WITHOUT WRAPPER")

    def query(text: str | None, spec: str | None) -> Any:
        if text is None or spec is None:
            return None
        path = json_paths.read_path(spec)
        outcome, found = _outcome(text, path)
        if outcome == "FOUND" and found is not None:
            if "UNCONDITIONAL" in wrapper or (
                "CONDITIONAL" in wrapper and not isinstance(found, list)
            ):
                found = [found]
            if not isinstance(found, dict | list):
                outcome = "ERROR" if path.strict else "EMPTY"
        elif outcome == "FOUND":
            outcome = "EMPTY"
        if outcome != "FOUND":
            found = _chosen(options, outcome, (), "JSON_QUERY")
        return None if found is None else _structure(json_paths.in_order(found), target)

    return map_values(query, arguments, to_arrow(target), nulls=True)


def _structure(value: Any, target: SqlType) -> Any:
    if not isinstance(target, ArrayType):
        return json_paths.write(value)
    if not isinstance(value, list):
        raise SqlError(f"the JSON value {json_paths.write(value)} is not an array")
    return [
        each if each is None or isinstance(each, str) else json_paths.write(each) for each in value
    ]


def _json_exists(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    on_error = on_event(call.options, "ERROR", "FALSE")

    def exists(text: str, spec: str) -> bool | None:
        path = json_paths.read_path(spec)
        outcome, value = _outcome(text, path)
        if outcome == "FOUND":
            return value is not None if path.definite else bool(value)
        if outcome == "ERROR" and on_error == "ERROR":
            raise SqlError("JSON_EXISTS: the path or the JSON is not valid")
        if outcome == "ERROR":
            return {"TRUE": True, "FALSE": False}.get(on_error)
        return False

    return map_values(exists, arguments, to_arrow(call.type))


def _raises_on_error(call: Call) -> bool:
    returns_text = isinstance(call.type, CharacterType)
    return not returns_text or any(each.startswith("ERROR ON") for each in call.options)


def _is_json(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    kinds: dict[str, Callable[[Any], bool]] = {
        "VALUE": lambda value: True,
        "ARRAY": lambda value: isinstance(value, list),
        "OBJECT": lambda value: isinstance(value, dict),
        "SCALAR": lambda value: not isinstance(value, list | dict),
    }
    fits = kinds[call.options[0]]

    def test(text: str | None) -> bool:
        if text is None:
            return False
        try:
            return fits(json_paths.parse(text))
        except ValueError:
            return False

    return map_values(test, arguments, to_arrow(call.type), nulls=True)


FUNCTIONS = (
    Function(
        "IS JSON",
        takes(a_text, gives=BOOLEAN, nulls=NOT_NULL),
        _is_json,
        ("string IS JSON [VALUE | SCALAR | ARRAY | OBJECT]",),
        "Whether the text is JSON, of a kind.",
        (("'1' IS JSON", "true"), ("'{}' IS JSON ARRAY", "false")),
    ),
    Function(
        "JSON_EXISTS",
        _path_rule(BOOLEAN, 2),
        _json_exists,
        ("JSON_EXISTS(json, path [{TRUE | FALSE | UNKNOWN | ERROR} ON ERROR])",),
        "Whether the path leads to a value.",
        (("JSON_EXISTS('{\"a\": true}', '$.a')", "true"),),
        can_fail=lambda call: any(each.startswith("ERROR ON") for each in call.options),
    ),
    Function(
        "JSON_VALUE",
        _path_rule(STRING, 4),
        _json_value,
        (
            "JSON_VALUE(json, path [RETURNING type] [{NULL | ERROR | DEFAULT value} ON EMPTY]"
            " [{NULL | ERROR | DEFAULT value} ON ERROR])",
        ),
        "The text, number or BOOLEAN to which a path leads.",
        (("JSON_VALUE('{\"a\": 1}', '$.a')", "1"),),
        can_fail=_raises_on_error,
    ),
    Function(
        "JSON_QUERY",
        _path_rule(STRING, 2),
        _json_query,
        (
            "JSON_QUERY(json, path [RETURNING type]"
            " [{WITHOUT | WITH [CONDITIONAL | UNCONDITIONAL]} [ARRAY] WRAPPER]"
            " [{NULL | ERROR | EMPTY ARRAY | EMPTY OBJECT} ON {EMPTY | ERROR}])",
        ),
        "The object or array to which a path leads, as JSON.",
        (("JSON_QUERY('{\"a\": [1, 2]}', '$.a')", "[1,2]"),),
        can_fail=_raises_on_error,
    ),
)
