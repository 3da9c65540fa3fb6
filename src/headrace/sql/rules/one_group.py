"""All rows as one group: keys for aggregations and orders that have none."""

from __future__ import annotations

from dataclasses import replace

from headrace.sql.expressions import ColumnRef, Literal
from headrace.sql.rel import Aggregate, Calc, Column, Rel, Union, Values, reference
from headrace.sql.types import BOOLEAN, INT

COUNTED = "$counted"
"""Begins the names of columns that say whether a row counts, for the aggregates of each filter."""

ALL = "$all"
"""The key column of an aggregation without keys: 0 in every row."""


def with_constant_key(rel: Rel) -> Rel:
    """Return the rows with a key column that is the same in all of them."""
    columns = rel.columns
    names = (*(column.name for column in columns), ALL)
    return Calc(rel, names, (*map(reference, columns), Literal(INT.with_nullable(False), 0)))


def with_a_group(rel: Aggregate) -> Rel:
    """Return an aggregation without keys that gives a row for no rows, as it must in a batch.

    A row that no aggregate counts is added.
    """
    columns = rel.input.columns
    counted = BOOLEAN.with_nullable(False)
    inner = tuple(map(reference, columns))
    filters = [*dict.fromkeys(call.filter for call in rel.calls)]
    places = {each: f"{COUNTED}{number}" for number, each in enumerate(filters)}
    types = {column.name: column.type for column in columns}
    kept = [
        Literal(counted, True) if each is None else ColumnRef(types[each], each) for each in filters
    ]
    fields = (
        *(Column(c.name, c.type.with_nullable(True)) for c in columns),
        *(Column(places[each], BOOLEAN) for each in filters),
        Column(ALL, INT.with_nullable(False)),
    )
    key = Literal(INT.with_nullable(False), 0)
    rows = Calc(rel.input, tuple(c.name for c in fields), (*inner, *kept, key))
    row = (
        *(Literal(c.type.with_nullable(True), None) for c in columns),
        *(Literal(counted, False) for _ in filters),
        key,
    )
    calls = tuple(replace(call, filter=places[call.filter]) for call in rel.calls)
    made = Aggregate(Union((Values((row,), fields), rows)), (ALL,), calls)
    return Calc(made, tuple(c.name for c in rel.columns), tuple(map(reference, rel.columns)))
