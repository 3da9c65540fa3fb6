"""Calls of aggregate functions: their arguments, and which of these are constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from headrace.errors import SqlValidationError
from headrace.sql.aggregates.table import AggregateFunction
from headrace.sql.calls import resolve_call, resolve_python_call
from headrace.sql.constant_rows import varies
from headrace.sql.convert import Converter
from headrace.sql.dialect.nodes import Clause
from headrace.sql.evaluate import evaluate_constant
from headrace.sql.expressions import Call, Expression, columns_of
from headrace.sql.functions.function import Session
from headrace.sql.refusals import refuse
from headrace.sql.types import (
    STRING,
    ArrayType,
    MapType,
    MultisetType,
    RowType,
    SqlType,
)

_JSON = ("JSON_OBJECTAGG", "JSON_ARRAYAGG")
_MADE_AS_JSON = ("JSON_OBJECT", "JSON_ARRAY")


@dataclass(frozen=True)
class AggregateArguments:
    """What a call is given: ``values`` of rows, and ``options``; ``kind``: its result's type.

    ``row_names``: the values are given to a user's function as one row, with these names.
    """

    values: tuple[Expression, ...]
    options: tuple[str, ...]
    kind: SqlType
    distinct: bool
    row_names: tuple[str, ...] | None = None


def aggregate_arguments(
    function: AggregateFunction, node: exp.Expr, converter: Converter, batch: bool
) -> AggregateArguments:
    """Return the arguments of a call.

    Raises:
        SqlValidationError: the function does not take them.
    """
    trees, distinct, words = _parts(node)
    converted = [converter.expression(each) for each in trees]
    row_names = None
    if function.python is not None:
        row_names = node.args.get("row_names")
        converted = [*resolve_python_call(function.python, converted, row_names).arguments]
    types = [each.type for each in converted]
    kind = function.type(types)
    if kind is None:
        raise SqlValidationError(
            f"{function.name} does not take ({', '.join(map(str, types))})",
            where={"it is called": " or ".join(function.forms)},
        )
    if function.batch_only and not batch:
        refuse(f"{function.name} in a stream")
    if distinct:
        converted = [_distinct(function, each, batch) for each in converted]
    if function.name in _JSON:
        *keys, value = converted
        return AggregateArguments((*keys, _as_json(value)), words, kind, distinct)
    if function.name == "COLLECT" and has_parts(types[0]):
        converted = [key_of(converted[0]), *converted]
    values, options = _without_constants(function, converted)
    return AggregateArguments(tuple(values), options or words, kind, distinct, row_names)


def arguments_of(node: exp.Expr) -> list[exp.Expr]:
    """Return the trees of a call's arguments."""
    return _parts(node)[0]


def _parts(node: exp.Expr) -> tuple[list[exp.Expr], bool, tuple[str, ...]]:
    """Return the arguments, whether there is DISTINCT, and the words after them."""
    arguments = [*node.expressions]
    if arguments and isinstance(arguments[0], exp.Distinct):
        first, *others = arguments
        return [*first.expressions], True, _words(others)
    if len(arguments) == 1 and isinstance(arguments[0], exp.Star):
        return [], False, ()
    trees = list[exp.Expr]()
    for each in arguments:
        if isinstance(each, exp.JSONKeyValue):
            trees += [each.this, each.expression]
        elif not isinstance(each, Clause):
            trees.append(each)
    return trees, False, _words(arguments)


def _words(arguments: Sequence[exp.Expr]) -> tuple[str, ...]:
    """Return the words among the arguments of a call, such as NULL ON NULL."""
    found = (each for each in arguments if isinstance(each, Clause))
    return tuple(f"{each.expression.name} {each.this}" for each in found)


def _as_json(value: Expression) -> Expression:
    """Return the JSON text of a value; what is made as JSON is one."""
    if isinstance(value, Call) and value.function in _MADE_AS_JSON:
        return value
    return resolve_call("JSON_STRING", [value])


def _distinct(function: AggregateFunction, value: Expression, batch: bool) -> Expression:
    """Return what tells different values apart."""
    if not has_parts(value.type):
        return value
    counts = function.name in ("COUNT", "APPROX_COUNT_DISTINCT")
    if not counts or (isinstance(value.type, RowType) and not batch):
        refuse(f"{function.name}(DISTINCT ...) of type {value.type.root}")
    return key_of(value)


def _without_constants(
    function: AggregateFunction, arguments: Sequence[Expression]
) -> tuple[Sequence[Expression], tuple[str, ...]]:
    """Return the arguments that are values of rows, and those that are constants."""
    end = 1 + function.constants
    options: list[str] = []
    for each in arguments[1:end]:
        if columns_of(each) or varies(each):
            raise SqlValidationError(
                f"an argument of {function.name} must be a constant, not {each}",
                where={"it is called": " or ".join(function.forms)},
            )
        value: Any = evaluate_constant(each, Session()).as_py()
        found = value if isinstance(value, list) else [value]
        if None in found:
            raise SqlValidationError(f"a constant of {function.name} is NULL")
        options += map(str, found)
    return [*arguments[:1], *arguments[end:]], tuple(options)


def has_parts(kind: SqlType) -> bool:
    """Return whether values of a type have parts, and so are no keys themselves."""
    return isinstance(kind, RowType | ArrayType | MapType | MultisetType)


def key_of(value: Expression) -> Expression:
    """Return a text that is equal for equal values, of a value with parts."""
    return Call(STRING.with_nullable(value.type.nullable), "KEY OF", (value,))


def require_groupable(kind: SqlType, what: str, batch: bool) -> None:
    """Refuse, as Flink in a batch, to group by maps: they have no order."""
    if batch and isinstance(kind, MapType | MultisetType):
        refuse(f"{what} of type {kind.root} in a batch")
