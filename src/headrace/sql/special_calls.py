"""Calls that are written in other ways than a name with arguments: units, TRIM, JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from sqlglot import exp

from headrace.errors import SqlValidationError
from headrace.sql.calls import resolve_call
from headrace.sql.dialect.nodes import Clause
from headrace.sql.expressions import Call, Expression
from headrace.sql.functions.json_reading import returning
from headrace.sql.python_function import Functions
from headrace.sql.types import SqlType


class TreeConverter(Protocol):
    """Makes typed expressions of trees."""

    def expression(self, node: exp.Expr) -> Expression:
        """Return the typed expression of a tree."""

    def sql_type(self, node: exp.Expr) -> SqlType:
        """Return the type that a node of the grammar says."""

    @property
    def functions(self) -> Functions:
        """The functions of users."""


_UNIT_FUNCTIONS = {
    "YEAR": "YEAR",
    "QUARTER": "QUARTER",
    "MONTH": "MONTH",
    "WEEK": "WEEK",
    "DAYOFYEAR": "DOY",
    "DAYOFMONTH": "DAY",
    "DAYOFWEEK": "DOW",
    "HOUR": "HOUR",
    "MINUTE": "MINUTE",
    "SECOND": "SECOND",
}
"""Functions of a time that are EXTRACT of a unit."""

_OF_JSON = ("JSON_OBJECT", "JSON_ARRAY")


def _raw_json(converter: TreeConverter, node: exp.Expr, name: str) -> Expression:
    outer = node.parent
    if isinstance(outer, exp.JSONKeyValue):
        outer = outer.parent if node.arg_key == "expression" else None
    if not isinstance(outer, exp.Anonymous) or _name(outer) not in _OF_JSON:
        raise SqlValidationError("JSON() is only a value of JSON_OBJECT or JSON_ARRAY")
    return _call(converter, name, *node.expressions)


def _with_unit(converter: TreeConverter, node: exp.Expr, name: str) -> Expression:
    """FLOOR, CEIL TO unit; EXTRACT, TIMESTAMPADD, TIMESTAMPDIFF of a unit."""
    units = [each.name for each in node.expressions if isinstance(each, exp.Var)]
    values = [each for each in node.expressions if not isinstance(each, exp.Var)]
    return _call(converter, name, *values, options=units)


def _unit_function(converter: TreeConverter, node: exp.Expr, name: str) -> Expression:
    return _call(converter, "EXTRACT", *node.expressions, options=(_UNIT_FUNCTIONS[name],))


def _trim(converter: TreeConverter, node: exp.Expr, name: str) -> Expression:
    first = node.expressions[0] if node.expressions else None
    if not isinstance(first, exp.Var):
        return _call(converter, "TRIM", *node.expressions, options=("BOTH",))
    *characters, value = node.expressions[1:]
    return _call(converter, "TRIM", value, *characters, options=(first.name,))


def _current_database(converter: TreeConverter, node: exp.Expr, name: str) -> Expression:
    database = converter.functions.current_database
    return _call(converter, name, *node.expressions, options=(database,))


def _json(converter: TreeConverter, node: exp.Expr, name: str) -> Expression:
    values: list[Expression] = []
    options: list[str] = []
    target: SqlType | None = None
    for each in node.expressions:
        if not isinstance(each, Clause):
            if isinstance(each, exp.JSONKeyValue):
                values += [converter.expression(each.this), converter.expression(each.expression)]
            else:
                values.append(converter.expression(each))
            continue
        words, value = each.this, each.expression
        if words == "RETURNING":
            target = converter.sql_type(value)
        elif isinstance(value, exp.Var):
            options.append(f"{value.name} {words}")
        else:
            options.append(f"DEFAULT {words}")
            values.append(converter.expression(value))
    call = resolve_call(name, values, tuple(options))
    if target is None:
        return call
    assert isinstance(call, Call)
    return returning(call, target)


def _call(
    converter: TreeConverter, name: str, *nodes: exp.Expr, options: Sequence[str] = ()
) -> Expression:
    return resolve_call(name, [converter.expression(each) for each in nodes], options)


def _name(node: exp.Expr) -> str:
    return node.this.upper() if isinstance(node.this, str) else ""


SPECIAL_CALLS: dict[str, Callable[[TreeConverter, exp.Expr, str], Expression]] = {
    "EXTRACT": _with_unit,
    "FLOOR": _with_unit,
    "CEIL": _with_unit,
    "TIMESTAMPADD": _with_unit,
    "TIMESTAMPDIFF": _with_unit,
    "TRIM": _trim,
    "CURRENT_DATABASE": _current_database,
    "JSON_VALUE": _json,
    "JSON_QUERY": _json,
    "JSON_EXISTS": _json,
    "JSON": _raw_json,
    "JSON_OBJECT": _json,
    "JSON_ARRAY": _json,
    **dict.fromkeys(_UNIT_FUNCTIONS, _unit_function),
}
"""What reads the calls of a function, by its name."""
