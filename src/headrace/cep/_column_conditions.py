"""Conditions that are expressions over columns, such as ``col("amount") > 500``.

A pattern has them as trees. With the type of a stream they get the types of its columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from zlib import crc32

from headrace.common._column_expression import ColumnExpression
from headrace.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation
from headrace.errors import PlanError, SqlValidationError, UnsupportedError
from headrace.operators.patterns.conditions import And, Condition, Or
from headrace.operators.patterns.over_columns import (
    MOST_CONDITIONS,
    ColumnConditions,
    Evaluate,
    OverColumns,
)
from headrace.operators.patterns.stages import Stage

if TYPE_CHECKING:
    from headrace.sql.expressions import Call, Expression
    from headrace.sql.functions.function import Function
    from headrace.sql.rel import Column
    from headrace.sql.types import SqlType


@dataclass(frozen=True)
class ConditionTree(Condition):
    """An expression over columns whose types are not known."""

    text: str
    tree: Any = field(compare=False)
    site: str = field(default="", compare=False)

    def __str__(self) -> str:
        return self.text


def to_tree(given: ColumnExpression, site: Any) -> ConditionTree:
    """Return the condition of an expression."""
    from headrace.sql.dialect.printing import to_sql

    return ConditionTree(to_sql(given._tree), given._tree, "" if site is None else str(site))


@dataclass(frozen=True)
class Columns:
    """The columns of a stream's events.

    ``places``: where an event has the values. ``others``: fields that no condition can read.
    """

    columns: tuple[Column, ...]
    places: tuple[int, ...]
    others: tuple[str, ...]
    of_rows: bool


def with_types(
    stages: tuple[Stage, ...], record_type: TypeInformation | None, stream: str
) -> tuple[tuple[Stage, ...], ColumnConditions | None]:
    """Return stages whose expressions have the types of a stream's columns, and the expressions.

    Raises:
        PlanError: the stream's type has no columns, or the pattern has too many expressions.
        SqlValidationError: an expression names no column of the stream, or its types do not fit.
    """
    found: dict[str, ConditionTree] = {}
    number_of: dict[str, int] = {}

    def collect(leaf: Condition) -> Condition:
        if not isinstance(leaf, ConditionTree):
            return leaf
        found.setdefault(leaf.text, leaf)
        return OverColumns(number_of.setdefault(leaf.text, len(number_of)), leaf.text)

    typed = tuple(
        stage.with_conditions(lambda condition: _merged(condition).with_leaves(collect))
        for stage in stages
    )
    if not found:
        return stages, None
    if len(found) > MOST_CONDITIONS:
        raise PlanError(
            f"the pattern has {len(found)} different conditions over columns; it may have"
            f" {MOST_CONDITIONS}",
            where={"stream": stream},
            hint="join the conditions of a stage by &, or use a function for some",
        )
    columns = _columns_of(record_type, stream, next(iter(found.values())))
    return typed, _resolved([*found.values()], columns)


def _merged(condition: Condition) -> Condition:
    """Return a condition in which expressions that are combined are one.

    The part of an AND that may fail is then computed only where the parts before it hold.
    """
    from sqlglot import exp

    if not isinstance(condition, And | Or):
        return condition
    parts = [_merged(part) for part in condition.parts]
    first = parts[0]
    if not isinstance(first, ConditionTree):
        return type(condition)(tuple(parts))
    kind, word = (exp.And, "AND") if isinstance(condition, And) else (exp.Or, "OR")
    text = f"({first.text})"
    tree: exp.Expr = exp.Paren(this=first.tree.copy())
    for part in parts[1:]:
        if not isinstance(part, ConditionTree):
            return type(condition)(tuple(parts))
        text = f"{text} {word} ({part.text})"
        tree = kind(this=tree, expression=exp.Paren(this=part.tree.copy()))
    return ConditionTree(text, tree, first.site)


def _columns_of(
    record_type: TypeInformation | None, stream: str, condition: ConditionTree
) -> Columns:
    from headrace.sql.rel import Column
    from headrace.sql.type_information import fields_of

    if not isinstance(record_type, RowTypeInfo | TupleTypeInfo):
        raise PlanError(
            f"the condition {condition} reads columns, and the events have none that are known",
            where={
                "stream": stream,
                "type": "not declared" if record_type is None else str(record_type),
                "called": condition.site,
            },
            hint="declare a ROW_NAMED or a TUPLE, as in stream.map(function, output_type="
            "Types.ROW_NAMED([...], [...])); or use a function of the event",
        )
    columns: list[Column] = []
    places: list[int] = []
    others: list[str] = []
    for place, (name, declared) in enumerate(fields_of(record_type)):
        kind = _type_of(declared)
        if kind is None:
            others.append(name)
        else:
            columns.append(Column(name, kind))
            places.append(place)
    of_rows = isinstance(record_type, RowTypeInfo)
    return Columns(tuple(columns), tuple(places), tuple(others), of_rows)


def _type_of(declared: TypeInformation) -> SqlType | None:
    """Return the SQL type of a field whose values Arrow takes as they are; None: of no other."""
    from headrace.sql import types as sql
    from headrace.sql.type_information import sql_type_of_info

    try:
        kind = sql_type_of_info(declared)
    except UnsupportedError:
        return None
    taken = sql.BooleanType | sql.NumericType | sql.CharacterType | sql.DateType | sql.TimestampType
    return kind.with_nullable(True) if isinstance(kind, taken) else None


def _resolved(conditions: list[ConditionTree], of: Columns) -> Resolved:
    from headrace.sql.expressions import ColumnRef, walk
    from headrace.sql.resolve.scope import Scope, Source

    scope = Scope((Source(None, tuple(each.name for each in of.columns), of.columns),))
    expressions = [_typed(each, scope, of) for each in conditions]
    read = {
        each.name
        for expression in expressions
        for each in walk(expression)
        if isinstance(each, ColumnRef)
    }
    columns = [
        (column, place)
        for column, place in zip(of.columns, of.places, strict=True)
        if column.name in read
    ]
    return Resolved(
        tuple(expressions),
        tuple(column for column, _ in columns),
        tuple(place for _, place in columns),
        of.of_rows,
    )


def _typed(condition: ConditionTree, scope: Any, of: Columns) -> Expression:
    from headrace.sql.convert import Converter
    from headrace.sql.expressions import Call, ColumnRef, walk
    from headrace.sql.functions.table import FUNCTIONS
    from headrace.sql.types import BooleanType

    def find(names: tuple[str, ...]) -> Expression | None:
        found: Expression | None = scope.find(names)
        if found is None:
            error = scope.missing(names)
            if names[-1] in of.others:
                error = SqlValidationError(
                    f"SQL has no type for the values of column {names[-1]!r}",
                    hint="use a function of the event",
                )
            raise error
        return found

    where = {"condition": condition.text, "called": condition.site}
    try:
        expression = Converter(find).expression(condition.tree)
    except SqlValidationError as error:
        error.where.update(where)
        raise
    if not isinstance(expression.type, BooleanType):
        raise SqlValidationError(
            f"a condition is true or false, and this is of type {expression.type.summary}",
            where=where,
        )
    parts = [*walk(expression)]
    if not any(isinstance(each, ColumnRef) for each in parts):
        raise SqlValidationError("the condition reads no column", where=where)
    for each in parts:
        if isinstance(each, Call) and _varies(FUNCTIONS[each.function], each):
            raise SqlValidationError(
                f"a condition over columns cannot call {each.function}: what it gives depends on"
                " more than the event",
                where=where,
                hint="use a function of the event, or of the event and a context",
            )
    return expression


def _varies(function: Function, call: Call) -> bool:
    """Return whether equal arguments may give other results: random numbers, or the present."""
    return not function.deterministic or (function.of_session and not call.arguments)


@dataclass(frozen=True)
class Resolved:
    """Conditions over columns (see ``ColumnConditions``): ``columns`` are those that they read."""

    expressions: tuple[Expression, ...]
    columns: tuple[Column, ...]
    places: tuple[int, ...]
    of_rows: bool

    @property
    def schema(self) -> Any:
        """The Arrow schema of the columns."""
        from headrace.sql.types import to_arrow_schema

        return to_arrow_schema(
            [each.name for each in self.columns], [each.type for each in self.columns]
        )

    @property
    def version(self) -> int:
        """A number of the expressions and of the types of the columns."""
        return crc32(repr((self.expressions, self.columns)).encode()) >> 1

    def compile(self, number: int | None = None) -> Evaluate:
        """Return what evaluates all conditions, or the one of a number."""
        from headrace.sql.evaluate import compile_expressions
        from headrace.sql.functions.function import Session

        chosen = self.expressions if number is None else self.expressions[number : number + 1]
        evaluate, session = compile_expressions(chosen, self.schema), Session()

        def answers(batch: Any) -> list[Any]:
            import pyarrow.compute as pc

            return [pc.fill_null(each, False) for each in evaluate(batch, session)]

        return answers


__all__ = ["ColumnConditions", "ConditionTree", "to_tree", "with_types"]
