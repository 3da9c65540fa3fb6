"""Columns that nothing reads are not computed; above all, aggregates.

As in Flink: a change of an aggregate that nothing reads gives no update.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headrace.sql.expressions import Expression, columns_of
from headrace.sql.rel import (
    Aggregate,
    AggregateCall,
    Calc,
    Columns,
    Correlate,
    CountWindowAggregate,
    Expand,
    Rel,
    Sort,
    Union,
    Unnest,
    Watermark,
    Window,
    WindowAggregate,
    reference,
    with_inputs,
)

Names = frozenset[str]


def without_unread_columns(rel: Rel) -> Rel:
    """Return the plan without what none of its columns needs; the columns stay."""
    return _with(rel, _names(rel.columns))


def _with(rel: Rel, read: Names) -> Rel:
    """Return a relation with at least the columns that are read, in their order."""
    match rel:
        case Calc():
            return _calc(rel, read)
        case Aggregate() | CountWindowAggregate():
            calls = tuple(each for each in rel.calls if each.name in read)
            calls = calls if calls or rel.keys else rel.calls[:1]
            return replace(rel, calls=calls, input=_with(rel.input, _of_groups(rel.keys, calls)))
        case WindowAggregate():
            calls = tuple(each for each in rel.calls if each.name in read)
            rows = _of_groups(rel.keys, calls) | {rel.window.time}
            return replace(rel, calls=calls, input=_with(rel.input, rows))
        case Union():
            return _union(rel, read)
    below = _below(rel, read)
    if below is None:  # it reads all columns of its inputs
        return with_inputs(rel, tuple(map(without_unread_columns, rel.inputs)))
    (inner,) = rel.inputs
    made = _with(inner, below & _names(inner.columns))
    if isinstance(rel, Window) and rel.window.kind == "SESSION":
        made = _only(made, below)  # it keeps whole rows: state must not depend on other columns
    if isinstance(rel, Watermark | Window) and made != inner:
        kept = _names(made.columns) | (_names(rel.columns) - _names(inner.columns))
        rel = replace(rel, fields=tuple(each for each in rel.fields if each.name in kept))
    return with_inputs(rel, (made,))


def _below(rel: Rel, read: Names) -> Names | None:
    """Return what is read of the input for columns of a relation; None: all, of each input."""
    match rel:
        case Watermark():
            return read | {rel.column} | columns_of(rel.expression)
        case Window():
            return read | {rel.window.time, *rel.window.keys}
        case Expand():
            return read | {*rel.keys}
        case Sort():
            return read | {name for name, _, _ in rel.keys}
        case Unnest():
            of_condition = set() if rel.condition is None else columns_of(rel.condition)
            return read | columns_of(rel.expression) | of_condition
        case Correlate():
            return read | columns_of(rel.call)
    return None


def _only(rel: Rel, read: Names) -> Rel:
    """Return a relation with the columns that are read, and no others."""
    kept = tuple(each for each in rel.columns if each.name in read)
    if len(kept) == len(rel.columns):
        return rel
    return Calc(rel, tuple(each.name for each in kept), tuple(map(reference, kept)))


def _calc(rel: Calc, read: Names) -> Calc:
    both = zip(rel.names, rel.expressions, strict=True)
    kept = [(name, each) for name, each in both if name in read]
    expressions = tuple(each for _, each in kept)
    conditions = () if rel.condition is None else (rel.condition,)
    below = _with(rel.input, _read_by((*expressions, *conditions)))
    return Calc(below, tuple(name for name, _ in kept), expressions, rel.condition)


def _union(rel: Union, read: Names) -> Rel:
    columns = rel.columns
    places = [place for place, each in enumerate(columns) if each.name in read]
    if len(places) == len(columns):
        return replace(rel, parts=tuple(map(without_unread_columns, rel.parts)))
    names = tuple(columns[place].name for place in places)
    parts = []
    for part in rel.parts:
        chosen = tuple(part.columns[place] for place in places)
        parts.append(_calc(Calc(part, names, tuple(map(reference, chosen))), frozenset(names)))
    return Union(tuple(parts))


def _of_groups(keys: Iterable[str], calls: Iterable[AggregateCall]) -> Names:
    read = {*keys}
    for each in calls:
        read |= {*each.arguments} | ({each.filter} if each.filter else set())
    return frozenset(read)


def _read_by(expressions: Iterable[Expression]) -> Names:
    return frozenset[str]().union(*map(columns_of, expressions))


def _names(columns: Columns) -> Names:
    return frozenset(each.name for each in columns)
