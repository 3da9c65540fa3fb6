"""Columns that nothing reads are not computed; above all, aggregates. Nor are they read of tables.

As in Flink: a change of an aggregate that nothing reads gives no update.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

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
    Scan,
    Sort,
    Union,
    Unnest,
    Watermark,
    Window,
    WindowAggregate,
    reference,
    with_inputs,
)
from headrace.sql.types import (
    AnyTimestampType,
    BooleanType,
    DateType,
    NumericType,
    TimeType,
)

Names = frozenset[str]

_SHORT = (BooleanType, NumericType, DateType, TimeType, AnyTimestampType)
"""Types whose columns are read fastest."""


def without_unread_columns(rel: Rel) -> Rel:
    """Return the plan without what none of its columns needs; the columns stay.

    Tables are read whole.
    """
    return _Pruning(lambda scan, _: scan).all_of(rel)


def with_columns_read(rels: Sequence[Rel], projects: Callable[[Scan], bool]) -> list[Rel]:
    """Return the plans of one job, whose tables give only the columns that any of them reads.

    So a table that several plans read is read once. ``projects``: whether a table can leave out
    columns.
    """
    found: dict[Scan, Names] = {}

    def note(scan: Scan, read: Names) -> Scan:
        found[scan] = found.get(scan, frozenset()) | read
        return scan

    def narrowed(scan: Scan, _: Names) -> Scan:
        return _narrowed(scan, found[scan]) if projects(scan) else scan

    for rel in rels:
        _Pruning(note).all_of(rel)
    return [*map(_Pruning(narrowed).all_of, rels)]


def _narrowed(scan: Scan, read: Names) -> Scan:
    if not read:  # rows are counted by a column
        first = min(scan.fields, key=lambda each: not isinstance(each.type, _SHORT))
        read = frozenset([first.name])
    names = tuple(each.name for each in scan.fields if each.name in read)
    return scan if len(names) == len(scan.fields) else replace(scan, projection=names)


@dataclass(frozen=True)
class _Pruning:
    """Leaves out what is not read.

    ``scan``: returns what stands for a table, given the names of its columns that are read.
    """

    scan: Callable[[Scan, Names], Scan]

    def all_of(self, rel: Rel) -> Rel:
        """Return a relation of which all columns are read."""
        return self.read_of(rel, _names(rel.columns))

    def read_of(self, rel: Rel, read: Names) -> Rel:
        """Return a relation with at least the columns that are read, in their order."""
        match rel:
            case Scan():
                return self.scan(rel, read)
            case Calc():
                return self._calc(rel, read)
            case Aggregate() | CountWindowAggregate():
                calls = tuple(each for each in rel.calls if each.name in read)
                calls = calls if calls or rel.keys else rel.calls[:1]
                below = self.read_of(rel.input, _of_groups(rel.keys, calls))
                return replace(rel, calls=calls, input=below)
            case WindowAggregate():
                calls = tuple(each for each in rel.calls if each.name in read)
                rows = _of_groups(rel.keys, calls) | {rel.window.time}
                return replace(rel, calls=calls, input=self.read_of(rel.input, rows))
            case Union():
                return self._union(rel, read)
        wanted = _below(rel, read)
        if wanted is None:  # it reads all columns of its inputs
            return with_inputs(rel, tuple(map(self.all_of, rel.inputs)))
        (inner,) = rel.inputs
        wanted &= _names(inner.columns)
        made = self.read_of(inner, wanted)
        if _keeps_rows(rel):
            made = _only(made, wanted)
        if isinstance(rel, Watermark | Window) and made != inner:
            kept = _names(made.columns) | (_names(rel.columns) - _names(inner.columns))
            rel = replace(rel, fields=tuple(each for each in rel.fields if each.name in kept))
        return with_inputs(rel, (made,))

    def _calc(self, rel: Calc, read: Names) -> Calc:
        both = zip(rel.names, rel.expressions, strict=True)
        kept = [(name, each) for name, each in both if name in read]
        expressions = tuple(each for _, each in kept)
        conditions = () if rel.condition is None else (rel.condition,)
        below = self.read_of(rel.input, _read_by((*expressions, *conditions)))
        return Calc(below, tuple(name for name, _ in kept), expressions, rel.condition)

    def _union(self, rel: Union, read: Names) -> Rel:
        columns = rel.columns
        places = [place for place, each in enumerate(columns) if each.name in read]
        if len(places) == len(columns):
            return replace(rel, parts=tuple(map(self.all_of, rel.parts)))
        names = tuple(columns[place].name for place in places)
        parts = []
        for part in rel.parts:
            chosen = tuple(part.columns[place] for place in places)
            calc = Calc(part, names, tuple(map(reference, chosen)))
            parts.append(self._calc(calc, frozenset(names)))
        return Union(tuple(parts))


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


def _keeps_rows(rel: Rel) -> bool:
    """Return whether the state of a relation has whole rows.

    It must not depend on further columns that others read of the same input.
    """
    return isinstance(rel, Sort) or (isinstance(rel, Window) and rel.window.kind == "SESSION")


def _only(rel: Rel, read: Names) -> Rel:
    """Return a relation with the columns that are read, and no others."""
    kept = tuple(each for each in rel.columns if each.name in read)
    if len(kept) == len(rel.columns):
        return rel
    return Calc(rel, tuple(each.name for each in kept), tuple(map(reference, kept)))


def _of_groups(keys: Iterable[str], calls: Iterable[AggregateCall]) -> Names:
    read = {*keys}
    for each in calls:
        read |= {*each.arguments} | ({each.filter} if each.filter else set())
    return frozenset(read)


def _read_by(expressions: Iterable[Expression]) -> Names:
    return frozenset[str]().union(*map(columns_of, expressions))


def _names(columns: Columns) -> Names:
    return frozenset(each.name for each in columns)
