"""Aggregates in a SELECT: which rows are grouped, and what is computed from them.

What is grouped is computed first, as columns; then the aggregates; then the expressions around
them. In the tree of the query, keys and aggregates are replaced by columns of the aggregation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cmp_to_key
from itertools import product

from sqlglot import exp

from headrace.errors import SqlValidationError
from headrace.sql.aggregates.table import KEY_VALUE, AggregateFunction, find_aggregate, of_user
from headrace.sql.convert import Converter
from headrace.sql.dialect.nodes import FunctionCall, TypeName
from headrace.sql.dialect.printing import to_sql
from headrace.sql.expressions import ColumnRef, Expression
from headrace.sql.functions.table import FUNCTIONS
from headrace.sql.places import placed_at
from headrace.sql.python_function import Functions, PythonFunction
from headrace.sql.refusals import refuse
from headrace.sql.rel import (
    Aggregate,
    AggregateCall,
    Calc,
    Column,
    Expand,
    Rel,
    Scan,
    StreamScan,
    Watermark,
)
from headrace.sql.resolve.aggregate_calls import (
    aggregate_arguments,
    arguments_of,
    has_parts,
    key_of,
    require_groupable,
)
from headrace.sql.resolve.calls import call_name
from headrace.sql.resolve.scope import Scope, Source, unique_names
from headrace.sql.types import (
    BIGINT,
    BooleanType,
    SqlType,
)

SET_NUMBER = "$set"
"""The column with the number of a row's grouping set."""

_GROUPING = ("GROUPING", "GROUPING_ID", "GROUP_ID")

PREFIX = "$"
"""Names of columns that no query names begin with it."""


def find_aggregates(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the calls of aggregate functions in a tree, outer ones first; not those of OVER."""
    if isinstance(node, exp.Window | exp.Subquery | exp.Query):
        return
    if aggregate_of(node) is not None:
        yield node
        return
    for child in node.iter_expressions():
        yield from find_aggregates(child)


def aggregate_of(node: exp.Expr) -> AggregateFunction | None:
    """Return the aggregate function that a node calls; None: it calls none."""
    if isinstance(node, exp.Filter):
        return aggregate_of(node.this)
    if isinstance(node, FunctionCall):
        return of_user(node.this) if node.this.kind == "aggregate" else None
    name = call_name(node)
    return None if name is None else find_aggregate(name)


def with_functions(node: exp.Expr, functions: Functions) -> exp.Expr:
    """Return the tree with the calls of users' aggregate functions, which it names, resolved."""

    def function_of(each: exp.Expr) -> PythonFunction | None:
        name = call_name(each)
        if name is None:
            return None
        found = functions.system_function(name)
        if found is None and find_aggregate(name) is None and name.upper() not in FUNCTIONS:
            found = functions.function((name,))
        return found if found is not None and found.kind == "aggregate" else None

    def change(each: exp.Expr) -> exp.Expr:
        found = function_of(each)
        if found is None:
            return each
        made = FunctionCall(this=found, expressions=each.expressions)
        made.meta.update(each.meta)
        return made

    if not any(function_of(each) for each in node.find_all(exp.Anonymous)):
        return node
    return node.transform(change)


@dataclass
class Grouping:
    """The aggregation of one SELECT, while it is resolved."""

    rel: Rel
    converter: Converter
    batch: bool
    inputs: dict[Expression, str] = field(default_factory=dict)
    """What is computed before the aggregation: expressions, and their columns."""
    keys: list[str] = field(default_factory=list)
    calls: dict[AggregateCall, str] = field(default_factory=dict)
    """The calls (without their names) and their columns."""
    parted: dict[Expression, str] = field(default_factory=dict)
    """The keys whose values have parts, with the columns that tell them apart."""
    carried: dict[str, str] = field(default_factory=dict)
    """For such a column the one with the value."""
    sets: list[tuple[str, ...]] = field(default_factory=lambda: [()])
    """The grouping sets: each with its keys."""

    def add_keys(self, node: exp.Expr) -> None:
        """Add an item of GROUP BY: a key, or grouping sets; with others it is combined."""
        self.sets = [
            tuple(dict.fromkeys((*before, *keys)))
            for before in self.sets
            for keys in self._sets_of(node)
        ]

    def sort_sets(self) -> None:
        """Put the grouping sets in the order in which Flink gives their results: a set before its
        parts; others by the places of their keys in the input."""
        places = self._places()
        marks = [tuple(sorted(places[key] for key in keys)) for keys in self.sets]

        def compared(one: int, two: int) -> int:
            first, second = marks[one], marks[two]
            if {*first} >= {*second} or {*second} >= {*first}:
                return len(second) - len(first)
            return -1 if first < second else 1

        order = sorted(range(len(marks)), key=cmp_to_key(compared))
        self.sets = [self.sets[number] for number in order]

    def _places(self) -> dict[str, int]:
        """Return a place for each key: that of its column in the relation below projections.

        It is the place in GROUP BY if a key is computed, or if a table is not read whole.
        """
        base, found = _below_projections(self.rel, [*self.inputs])
        places = dict(zip(self.inputs.values(), found, strict=True))
        stored = isinstance(base, Scan | StreamScan | Watermark)
        unread = stored and not {*range(len(base.columns))} <= {*found}
        in_base = [places[key] for key in self.keys]
        if unread or self.parted or None in in_base:
            return {key: place for place, key in enumerate(self.keys)}
        return {
            key: place for key, place in zip(self.keys, in_base, strict=True) if place is not None
        }

    def _sets_of(self, node: exp.Expr) -> list[tuple[str, ...]]:
        match node:
            case exp.GroupingSets():
                return [keys for each in node.expressions for keys in self._sets_of(each)]
            case exp.Rollup():
                parts = [self._keys_of(each) for each in node.expressions]
                prefixes = range(len(parts), -1, -1)
                return [tuple(key for part in parts[:end] for key in part) for end in prefixes]
            case exp.Cube():
                parts = [self._keys_of(each) for each in node.expressions]
                masks = product((True, False), repeat=len(parts))
                return [
                    tuple(key for part, has in zip(parts, mask, strict=True) if has for key in part)
                    for mask in masks
                ]
        return [self._keys_of(node)]

    def _keys_of(self, node: exp.Expr) -> tuple[str, ...]:
        if isinstance(node, exp.Tuple):
            return tuple(self.add_key(each) for each in node.expressions)
        return (self.add_key(node.this if isinstance(node, exp.Paren) else node),)

    def add_key(self, node: exp.Expr) -> str:
        """Add an expression of GROUP BY; return its column."""
        if next(find_aggregates(node), None) is not None:
            raise SqlValidationError(
                f"GROUP BY contains the aggregate function {to_sql(node)}",
                hint="aggregate in a subquery, and group by its column",
            )
        key = self.converter.expression(node)
        require_groupable(key.type, f"GROUP BY {to_sql(node)}", self.batch)
        if has_parts(key.type):
            name = self._input(key_of(key))
            self.parted[key] = name
            call = AggregateCall("", KEY_VALUE.name, (self._input(key),), key.type)
            self.carried[name] = self._name_of(call)
        else:
            name = self._input(key)
        if name not in self.keys:
            self.keys.append(name)
        return name

    def replace(self, node: exp.Expr) -> exp.Expr:
        """Return a tree of SELECT, HAVING or ORDER BY over the columns of the aggregation."""
        with placed_at(node):
            return self._replaced(node)

    def _replaced(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.WithinGroup) and aggregate_of(node.this) is not None:
            refuse(f"ORDER BY in {call_name(node.this)}")
        function = aggregate_of(node)
        if function is not None:
            return exp.column(self._call(node, function), quoted=True)
        key = self._key_of(node)
        if key is not None:
            return exp.column(self.carried.get(key) or self._copy(key), quoted=True)
        if (call_name(node) or "").upper() in _GROUPING:
            return self._grouping(node)
        if isinstance(node, exp.Subquery | exp.Exists):
            return node
        if isinstance(node, exp.Column):
            raise SqlValidationError(
                f"expression {node.name!r} is not being grouped",
                hint="add it to GROUP BY, or aggregate it",
            )
        copied = node.copy()
        for child in [*copied.iter_expressions()]:
            replaced = self.replace(child)
            if replaced is not child:
                child.replace(replaced)
        return copied

    def aggregate(self) -> Rel:
        """Return the aggregation, of what has been added."""
        names, expressions = (*self.inputs.values(),), (*self.inputs,)
        before = Calc(self.rel, names, expressions)
        calls = tuple(replace(each, name=name) for each, name in self.calls.items())
        if not self._expands:
            return Aggregate(before, tuple(self.keys), calls)
        for each in self.parted:
            refuse(f"grouping sets by values of type {each.type.root}")
        copies = tuple(map(self._copy, self.keys))
        expanded = Expand(before, tuple(self.keys), copies, tuple(self.sets), SET_NUMBER)
        return Aggregate(expanded, (*copies, SET_NUMBER), calls)

    @property
    def _expands(self) -> bool:
        return len(self.sets) > 1 or len(self.sets[0]) < len(self.keys)

    def _copy(self, key: str) -> str:
        return f"{PREFIX}key.{key}" if self._expands else key

    def _grouping(self, node: exp.Expr) -> exp.Expr:
        """Return the tree of GROUPING, GROUPING_ID or GROUP_ID: a number for each grouping set."""
        keys = [self._key_of(each) for each in node.expressions]
        if None in keys:
            raise SqlValidationError(f"{to_sql(node)}: its arguments must be in GROUP BY")
        numbers = [
            sum((key not in kept) << place for place, key in enumerate(reversed(keys)))
            if keys
            else self.sets[:number].count(kept)
            for number, kept in enumerate(self.sets)
        ]
        if not self._expands:
            return _bigint(numbers[0])
        number = exp.column(SET_NUMBER, quoted=True)
        branches = [
            exp.If(this=exp.EQ(this=number.copy(), expression=_bigint(place)), true=_bigint(value))
            for place, value in enumerate(numbers)
        ]
        return exp.Case(ifs=branches[:-1], default=branches[-1].args["true"])

    def _fitted(
        self,
        function: AggregateFunction,
        kind: SqlType,
        values: Sequence[Expression],
        kept: str | None,
    ) -> SqlType:
        """Return the type of a result: without NULL where each group has a value."""
        if function.python or function.may_lack or kept is not None or not values:
            return kind
        always = self.keys or function.needs_no_group
        if always and not any(each.type.nullable for each in values):
            return kind.with_nullable(False)
        return kind

    def _key_of(self, node: exp.Expr) -> str | None:
        if not isinstance(node, exp.Condition) or isinstance(node, exp.Literal):
            return None
        try:
            found = self.converter.expression(node)
        except SqlValidationError:
            return None  # a part of it is no column of the input
        name = self.parted.get(found) or self.inputs.get(found)
        return name if name in self.keys else None

    def _input(self, expression: Expression) -> str:
        name = self.inputs.get(expression)
        if name is None:
            wanted = (
                expression.name
                if isinstance(expression, ColumnRef)
                else f"{PREFIX}f{len(self.inputs)}"
            )
            *_, name = unique_names((*self.inputs.values(), wanted))
            self.inputs[expression] = name
        return name

    def _call(self, node: exp.Expr, function: AggregateFunction) -> str:
        kept = None
        if isinstance(node, exp.Filter):
            condition = self.converter.expression(node.expression.this)
            if not isinstance(condition.type, BooleanType):
                raise SqlValidationError(f"FILTER needs a condition, not {condition.type}")
            kept, node = self._input(condition), node.this
        nested = next((e for a in arguments_of(node) for e in find_aggregates(a)), None)
        if nested is not None:
            raise SqlValidationError(
                f"aggregate functions cannot be nested: {to_sql(nested)} is inside {to_sql(node)}",
                hint="compute the inner one in a subquery",
            )
        given = aggregate_arguments(function, node, self.converter, self.batch)
        call = AggregateCall(
            "",
            function.name,
            tuple(self._input(each) for each in given.values),
            self._fitted(function, given.kind, given.values, kept),
            given.distinct and function.name not in ("MIN", "MAX"),
            kept,
            given.options,
            function.python,
            given.row_names,
        )
        return self._name_of(call)

    def _name_of(self, call: AggregateCall) -> str:
        name = self.calls.get(call)
        if name is None:
            name = self.calls[call] = f"{PREFIX}a{len(self.calls)}"
        return name


def _below_projections(rel: Rel, expressions: Sequence[Expression]) -> tuple[Rel, list[int | None]]:
    """Return the relation below projections, and the places of columns in it; None: computed."""
    given: list[Expression | None] = [*expressions]
    while isinstance(rel, Calc):
        made = dict(zip(rel.names, rel.expressions, strict=True))
        given = [made[each.name] if isinstance(each, ColumnRef) else None for each in given]
        rel = rel.input
    places = {each.name: place for place, each in enumerate(rel.columns)}
    return rel, [places[each.name] if isinstance(each, ColumnRef) else None for each in given]


def scope_of(rel: Rel) -> Scope:
    """Return the scope of the columns of an aggregation."""
    columns: tuple[Column, ...] = rel.columns
    return Scope((Source(None, tuple(each.name for each in columns), columns),))


def _bigint(value: int) -> exp.Expr:
    kind = TypeName(this=BIGINT.with_nullable(False))
    return exp.Cast(this=exp.Literal.number(value), to=kind)
