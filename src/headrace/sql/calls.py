"""Typed calls of functions: the signature for given arguments, with the casts that it needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headrace.errors import SqlValidationError
from headrace.sql.assignment import is_assignable
from headrace.sql.coercion import same_type
from headrace.sql.expressions import Call, Expression, Literal, PythonCall
from headrace.sql.functions.casts import can_cast
from headrace.sql.functions.table import FUNCTIONS, REFUSED, near
from headrace.sql.functions.untyped_null import check_nulls
from headrace.sql.nan import as_rewritten
from headrace.sql.python_function import PythonFunction
from headrace.sql.types import (
    CharacterType,
    DateType,
    NullType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    TimeType,
)

_EQUALITIES = ("=", "<>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")


def resolve_call(
    name: str, arguments: Sequence[Expression], options: Sequence[str] = ()
) -> Expression:
    """Return the call of a function, with casts of its arguments to the types that it takes.

    Raises:
        SqlValidationError: there is no such function, or it does not take such arguments.
    """
    function = FUNCTIONS.get(name)
    if function is None:
        raise unknown_function(name)
    check_nulls(name, arguments)
    signature = function.types(arguments, tuple(options))
    if signature is None:
        given = ", ".join(str(each.type) for each in arguments)
        raise SqlValidationError(
            f"{name} does not take ({given})",
            where={"form": " | ".join(function.forms)},
            hint="CAST converts a value to a type that is taken",
        )
    result = signature.result
    converted = []
    for each, kind in zip(arguments, signature.arguments, strict=True):
        if name in _EQUALITIES and _is_text_as_time(each, kind):
            # As in Flink, a text that says no time is NULL.
            converted.append(cast(each, kind, safe=True))
            result = result.with_nullable(result.nullable or name in ("=", "<>"))
        else:
            converted.append(implicit_cast(each, kind))
    return as_rewritten(Call(result, name, tuple(converted), tuple(options)))


def connected(name: str, parts: Sequence[Expression]) -> Expression | None:
    """Return conditions that AND or OR connects; None: there are none."""
    if len(parts) < 2:
        return parts[0] if parts else None
    return resolve_call(name, parts)


def _is_text_as_time(expression: Expression, target: SqlType) -> bool:
    return (
        isinstance(target, DateType | TimeType | TimestampType | TimestampLtzType)
        and isinstance(expression.type, CharacterType)
        and not isinstance(expression, Literal)
    )


def resolve_python_call(
    function: PythonFunction,
    arguments: Sequence[Expression],
    row_names: tuple[str, ...] | None = None,
) -> PythonCall:
    """Return the call of a function of a user, with casts of its arguments to its input types.

    Raises:
        SqlValidationError: it has input types, and the arguments have others.
    """
    wanted = function.parameters
    if wanted is not None and row_names is None:
        fits = len(arguments) == len(wanted) and all(
            is_assignable(each.type, kind) for each, kind in zip(arguments, wanted, strict=True)
        )
        if not fits:
            given = ", ".join(str(each.type) for each in arguments)
            raise SqlValidationError(
                f"{function.name} does not take ({given})",
                where={"input types": ", ".join(map(str, wanted))},
                hint="CAST converts a value to a type that is taken",
            )
        arguments = [
            implicit_cast(each, kind) for each, kind in zip(arguments, wanted, strict=True)
        ]
    return PythonCall(function.result, function, tuple(arguments), row_names)


def unknown_function(name: str, others: Iterable[str] = ()) -> SqlValidationError:
    """Return the error for an unknown function; ``others``: more names that it may suggest."""
    if name in REFUSED:
        return SqlValidationError(f"the function {name} is not supported: {REFUSED[name]}")
    similar = near(name.upper(), others)
    hint = f"did you mean {' or '.join(similar)}?" if similar else None
    return SqlValidationError(f"no function has the name {name}", hint=hint)


def cast(expression: Expression, target: SqlType, *, safe: bool = False) -> Expression:
    """Return an explicit CAST; ``safe``: TRY_CAST."""
    source = expression.type
    if not can_cast(source, target):
        raise SqlValidationError(
            f"{'TRY_CAST' if safe else 'CAST'} cannot convert {source} to {target.summary}",
            hint=_cast_hint(source, target),
        )
    kind = target.with_nullable(source.nullable or isinstance(source, NullType))
    if safe:
        kind = kind.with_nullable(True)
    if isinstance(expression, Literal) and expression.value is None:
        return Literal(kind.with_nullable(True), None)
    if kind == source:
        return expression
    return Call(kind, "TRY_CAST" if safe else "CAST", (expression,))


def implicit_cast(expression: Expression, target: SqlType) -> Expression:
    """Return the expression as a type that a function takes; NULL as its argument has it."""
    source = expression.type
    if isinstance(source, NullType) and isinstance(expression, Literal):
        return Literal(target.with_nullable(True), None)
    if same_type(source, target):
        return expression
    return Call(target.with_nullable(source.nullable), "CAST", (expression,))


def _cast_hint(source: SqlType, target: SqlType) -> str | None:
    numeric = source.root in ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL")
    if numeric and isinstance(target, TimestampType | TimestampLtzType):
        return "TO_TIMESTAMP_LTZ makes a timestamp of seconds or milliseconds"
    if isinstance(source, TimestampType | TimestampLtzType) and target.root in ("INT", "BIGINT"):
        return "UNIX_TIMESTAMP gives seconds of a timestamp's text"
    return None
