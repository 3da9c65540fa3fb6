"""The old windows of GROUP BY: ``TUMBLE(time, size)``, ``HOP`` and ``SESSION`` as grouping keys."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from headrace.errors import SqlValidationError
from headrace.sql.dialect.printing import to_sql
from headrace.sql.expressions import ColumnRef
from headrace.sql.refusals import refuse
from headrace.sql.rel import Column, Rel, Window, WindowKind, WindowSpec
from headrace.sql.resolve.calls import call_name
from headrace.sql.resolve.protocols import Queries
from headrace.sql.resolve.scope import Scope, Source
from headrace.sql.resolve.window_functions import (
    check_lengths,
    is_processing_time,
    length_ms,
    windowed,
)
from headrace.sql.types import AnyTimestampType, attribute_of

_KINDS: dict[str, WindowKind] = {"TUMBLE": "TUMBLE", "HOP": "HOP", "SESSION": "SESSION"}
_BORDERS = {"START": 0, "END": 1, "ROWTIME": 2, "PROCTIME": 2}


@dataclass(frozen=True)
class GroupWindow:
    """A window of GROUP BY: its relation, and the columns of its borders."""

    rel: Window
    scope: Scope
    call: exp.Expr
    borders: tuple[str, ...]

    def replaced(self, node: exp.Expr) -> exp.Expr:
        """Return a tree with columns in place of TUMBLE_START(...) and the like."""

        def change(each: exp.Expr) -> exp.Expr:
            name = (call_name(each) or "").upper()
            kind, _, border = name.partition("_")
            if kind not in _KINDS or border not in _BORDERS:
                return each
            if each.expressions != self.call.expressions:
                raise SqlValidationError(
                    f"{to_sql(each)} is not a border of the window in GROUP BY, {to_sql(self.call)}"
                )
            by_clock = self.rel.window.processing_time
            if border in ("ROWTIME", "PROCTIME") and (border == "PROCTIME") != by_clock:
                clock = "processing time" if by_clock else "event time"
                raise SqlValidationError(f"{name} of a window of {clock}")
            return exp.column(self.borders[_BORDERS[border]], quoted=True)

        return node.transform(change)

    @property
    def keys(self) -> list[exp.Expr]:
        """The keys of the aggregation in place of the call."""
        return [exp.column(name, quoted=True) for name in self.borders]


def find_group_window(
    queries: Queries, rel: Rel, scope: Scope, keys: list[exp.Expr]
) -> GroupWindow | None:
    """Return the window among the keys of GROUP BY; None: there is none."""
    calls = [each for each in keys if (call_name(each) or "").upper() in _KINDS]
    if not calls:
        return None
    if len(calls) > 1:
        raise SqlValidationError("GROUP BY can have one window")
    (call,) = calls
    name = (call_name(call) or "").upper()
    converter = queries.converter(scope)
    arguments = call.expressions
    if len(arguments) != (3 if name == "HOP" else 2):
        refuse(f"{name} of {len(arguments)} arguments in GROUP BY", to_sql(call))
    time = converter.expression(arguments[0])
    column = Column(time.name, time.type) if isinstance(time, ColumnRef) else Column("", time.type)
    by_clock = bool(column.name) and is_processing_time(rel, column.name)
    if not column.name or not (_is_time(column, queries.batch) or by_clock):
        raise SqlValidationError(
            f"{name} needs a time attribute, but {to_sql(arguments[0])} is {time.type}"
        )
    lengths = [length_ms(queries, each, name) for each in arguments[1:]]
    slide_ms = lengths[0] if name == "HOP" else 0
    spec = WindowSpec(
        _KINDS[name],
        column.name,
        lengths[-1],
        slide_ms,
        grouped=True,
        processing_time=by_clock,
    )
    check_lengths(spec, name)
    made = windowed(rel, spec, column)
    kept = made.columns[:-3]
    start, end, last = made.columns[-3:]
    borders = (
        Column("$window_start", start.type),
        Column("$window_end", end.type),
        Column("$window_time", last.type.with_nullable(not by_clock)),
    )
    window = Window(rel, spec, (*kept, *borders))
    names = tuple(each.name for each in borders)
    added = Scope((*scope.sources, Source(None, names, borders)))
    return GroupWindow(window, added, call, names)


def _is_time(column: Column, batch: bool) -> bool:
    """Return whether older windows accept a column. As in Flink, it may be computed from event
    time, such as its sum with an interval; in a batch it may be any timestamp."""
    kind = column.type
    if batch:
        return isinstance(kind, AnyTimestampType)
    return attribute_of(kind) == "rowtime"
