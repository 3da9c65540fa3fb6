"""Typed expressions: what is computed from the columns of a row.

They are values, made by the resolver (``resolve``) and computed on record batches (``evaluate``).
Conversions between types are calls of CAST, so the types of a call's arguments are those that its
function takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from headrace.sql.python_function import Implementation, PythonFunction, Signature
from headrace.sql.types import SqlType, quote_name


@dataclass(frozen=True)
class Expression:
    """An expression, with the type of its values."""

    type: SqlType

    @property
    def inputs(self) -> tuple[Expression, ...]:
        """The expressions that it is computed from."""
        return ()


@dataclass(frozen=True)
class ColumnRef(Expression):
    """The value of a column of the input."""

    name: str

    def __str__(self) -> str:
        return quote_name(self.name)


@dataclass(frozen=True)
class Literal(Expression):
    """A constant, as the Python value that pyarrow makes of the type's Arrow value; or None."""

    value: Any

    def __str__(self) -> str:
        if isinstance(self.value, str):
            return "'" + self.value.replace("'", "''") + "'"
        return "NULL" if self.value is None else str(self.value).upper()


@dataclass(frozen=True)
class Call(Expression):
    """A call of a function of the table of functions, by its name there.

    ``options``: the constants that are no values of SQL, such as the unit of EXTRACT.
    """

    function: str
    arguments: tuple[Expression, ...]
    options: tuple[str, ...] = ()

    @property
    def inputs(self) -> tuple[Expression, ...]:
        return self.arguments

    def __str__(self) -> str:
        parts = [*self.options, *map(str, self.arguments)]
        target = f" AS {self.type}" if self.function in ("CAST", "TRY_CAST") else ""
        return f"{self.function}({', '.join(parts)}{target})"


@dataclass(frozen=True)
class PythonCall(Expression):
    """A call of a function of a user.

    ``row_names``: the arguments are given as one row, with these names.
    """

    function: PythonFunction
    arguments: tuple[Expression, ...]
    row_names: tuple[str, ...] | None = None

    @property
    def inputs(self) -> tuple[Expression, ...]:
        return self.arguments

    @property
    def signature(self) -> Signature:
        """The types of the call."""
        types = tuple(each.type for each in self.arguments)
        return Signature(self.function.name, types, self.type, self.row_names)

    def __str__(self) -> str:
        return f"{self.function.name}({', '.join(map(str, self.arguments))})"


def walk(expression: Expression) -> Iterator[Expression]:
    """Return an expression and all that are inside it, outer ones first."""
    yield expression
    for each in expression.inputs:
        yield from walk(each)


def columns_of(expression: Expression) -> frozenset[str]:
    """Return the names of the columns that an expression reads."""
    return frozenset(each.name for each in walk(expression) if isinstance(each, ColumnRef))


def transform(
    expression: Expression, change: Callable[[Expression], Expression | None]
) -> Expression:
    """Return the expression with parts replaced, outer ones first; ``change`` None: go inside."""
    changed = change(expression)
    if changed is not None:
        return changed
    if isinstance(expression, Call | PythonCall):
        arguments = tuple(transform(each, change) for each in expression.arguments)
        return replace(expression, arguments=arguments)
    return expression


def over_sources(expression: Expression, sources: Mapping[str, Expression]) -> Expression:
    """Return the expression with each column replaced by what it is computed from."""
    return transform(
        expression, lambda each: sources[each.name] if isinstance(each, ColumnRef) else None
    )


def implementations(expressions: Iterable[Expression]) -> tuple[Implementation, ...]:
    """Return what computes the functions of users in expressions, each once."""
    found = {
        each.function.implementation: None
        for expression in expressions
        for each in walk(expression)
        if isinstance(each, PythonCall)
    }
    return tuple(found)


def with_implementations(
    expression: Expression, copies: Mapping[Implementation, Implementation]
) -> Expression:
    """Return the expression with copies of what computes its functions."""

    def change(each: Expression) -> Expression | None:
        if not isinstance(each, PythonCall):
            return None
        function = replace(each.function, implementation=copies[each.function.implementation])
        arguments = tuple(transform(inner, change) for inner in each.arguments)
        return replace(each, function=function, arguments=arguments)

    return transform(expression, change)
