"""Aggregations by the borders of windows become window aggregations."""

from __future__ import annotations

from dataclasses import replace

from headrace.sql.expressions import ColumnRef, Expression, columns_of
from headrace.sql.refusals import refuse
from headrace.sql.rel import (
    Aggregate,
    Border,
    Calc,
    Expand,
    Rel,
    Window,
    WindowAggregate,
    reference,
    with_inputs,
)
from headrace.sql.types import TimestampLtzType

TIME = "$rowtime"
"""The column with the time of the rows, where a query does not name it."""

BORDERS: tuple[Border, ...] = ("start", "end", "time")
"""What the last columns of a ``Window`` are."""


Windowed = Window | WindowAggregate
"""What gives borders of windows as columns."""


def with_window_aggregates(rel: Rel) -> Rel:
    """Return the plan with window aggregations in place of those by window_start and window_end."""
    rel = with_inputs(rel, tuple(map(with_window_aggregates, rel.inputs)))
    if not isinstance(rel, Aggregate):
        return rel
    origins = {key: _origin(rel.input, key) for key in rel.keys}
    windows = {
        key: found for key, found in origins.items() if found is not None and found[1] in BORDERS
    }
    by_window: dict[Windowed, set[Border]] = {}
    for window, border in windows.values():
        by_window.setdefault(window, set()).add(border)
    chosen = next((each for each, found in by_window.items() if {"start", "end"} <= found), None)
    if chosen is None:
        return rel
    borders = {key: border for key, (window, border) in windows.items() if window == chosen}
    keys = tuple(key for key in rel.keys if key not in borders)
    spec = chosen.window
    if spec.processing_time and isinstance(chosen, WindowAggregate):
        return rel  # its windows are over: their rows are aggregated as all others
    if spec.kind == "SESSION" and not _has_sessions_of(chosen, keys):
        if _is_expanded(rel.input, chosen):
            refuse("an aggregation over SESSION by grouping sets of its keys")
        return rel  # an aggregation of rows that have their sessions
    before = _without_window(rel.input, chosen) if isinstance(chosen, Window) else None
    if before is None and spec.processing_time:
        return rel  # an aggregation of rows that have their windows
    columns = {column.name: column for column in rel.columns}
    made = WindowAggregate(
        rel.input if before is None else before,
        replace(spec, time=_end(borders) if before is None else TIME),
        keys,
        rel.calls,
        tuple((columns[key], border) for key, border in borders.items()),
        attached=before is None,
        of_moments=_is_of_moments(chosen),
    )
    return Calc(
        made,
        tuple(column.name for column in rel.columns),
        tuple(reference(column) for column in rel.columns),
    )


def _is_of_moments(chosen: Windowed) -> bool:
    """Return whether windows are of TIMESTAMP_LTZ, cut by local time."""
    if isinstance(chosen, WindowAggregate):
        return chosen.of_moments
    time = chosen.window.time
    (kind,) = (column.type for column in chosen.input.columns if column.name == time)
    return isinstance(kind, TimestampLtzType)


def _end(borders: dict[str, Border]) -> str:
    return next(key for key, border in borders.items() if border == "end")


def _has_sessions_of(chosen: Windowed, keys: tuple[str, ...]) -> bool:
    """Return whether each group has sessions of its own."""
    if isinstance(chosen, WindowAggregate):
        refuse("a second aggregation over sessions")
    spec = chosen.window
    return {*spec.keys} == {*keys} or (spec.grouped and not spec.keys)


def _is_expanded(rel: Rel, window: Rel) -> bool:
    """Return whether grouping sets are between a window and its aggregation."""
    while rel != window and not isinstance(rel, Expand):
        (rel,) = rel.inputs
    return isinstance(rel, Expand)


def _origin(rel: Rel, name: str) -> tuple[Windowed, Border] | None:
    """Return the window that a column is a border of; None: it is no border."""
    while isinstance(rel, Calc | Expand):
        if isinstance(rel, Calc):
            expression = dict(zip(rel.names, rel.expressions, strict=True))[name]
            if not isinstance(expression, ColumnRef):
                return None
            name = expression.name
        elif name == rel.number:
            return None
        elif name in rel.copies:
            name = rel.keys[rel.copies.index(name)]
            if any(name not in keys for keys in rel.sets):
                return None
        rel = rel.input
    if isinstance(rel, WindowAggregate):
        found = {column.name: border for column, border in rel.borders}
        return (rel, found[name]) if name in found else None
    if not isinstance(rel, Window):
        return None
    borders = {column.name: b for column, b in zip(rel.columns[-3:], BORDERS, strict=True)}
    return (rel, borders[name]) if name in borders else None


def _expanded(rel: Expand, below: Rel) -> Expand:
    """Return grouping sets without the borders of windows, which are in each of them."""
    left = {column.name for column in below.columns}
    kept = [(key, copy) for key, copy in zip(rel.keys, rel.copies, strict=True) if key in left]
    sets = tuple(tuple(key for key in keys if key in left) for keys in rel.sets)
    keys, copies = tuple(key for key, _ in kept), tuple(copy for _, copy in kept)
    return Expand(below, keys, copies, sets, rel.number)


def _without_window(rel: Rel, window: Window) -> Rel | None:
    """Return the rows that a window gets, through the same projections, with their time.

    None if an expression or a condition needs the borders: then the rows have their windows.
    """
    if isinstance(rel, Window):
        kept = rel.input.columns
        time = next(column for column in kept if column.name == window.window.time)
        names = (*(column.name for column in kept), TIME)
        return Calc(rel.input, names, (*map(reference, kept), reference(time)))
    assert isinstance(rel, Calc | Expand), "a border comes through projections"
    below = _without_window(rel.input, window)
    if below is None:
        return None
    if isinstance(rel, Expand):
        return _expanded(rel, below)
    present = {column.name: column for column in below.columns}
    kept_names, expressions = list[str](), list[Expression]()
    for name, expression in zip(rel.names, rel.expressions, strict=True):
        if columns_of(expression) <= present.keys():
            kept_names.append(name)
            expressions.append(expression)
        elif not isinstance(expression, ColumnRef):
            _check_kept(window)
            return None
    if rel.condition is not None and not columns_of(rel.condition) <= present.keys():
        _check_kept(window)
        return None
    kept_names.append(TIME)
    expressions.append(reference(present[TIME]))
    return Calc(below, tuple(kept_names), tuple(expressions), rel.condition)


def _check_kept(window: Window) -> None:
    if window.window.kind == "SESSION":
        refuse("an expression with a border of a session, before the aggregation,")
