"""Files whose rows a query leaves out are not read.

All rows of a file have the same values in some columns: those of its folder, and about the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from headrace.sql.calls import connected
from headrace.sql.constant_rows import varies
from headrace.sql.evaluate import may_fail
from headrace.sql.expressions import Call, ColumnRef, Expression, columns_of, over_sources
from headrace.sql.rel import Calc, Rel, Scan, Union, Watermark, reference, with_inputs

Names = frozenset[str]
Conditions = tuple[Expression, ...]
"""All of which a row must meet to be needed."""


def with_files_read(
    rels: Sequence[Rel], columns_of_files: Callable[[Scan], Names], *, batch: bool
) -> list[Rel]:
    """Return the plans of one job, whose tables read only the files that any of them needs.

    ``columns_of_files``: the columns of a table with the same value in all rows of a file.
    ``batch``: there are no watermarks, which rows advance also if they are left out later.
    """
    found: dict[Scan, list[Expression | None]] = {}
    for rel in rels:
        for scan, conditions in _conditions(rel, (), batch):
            columns = columns_of_files(scan)
            of_files = [each for each in conditions if _chooses_files(each, columns)]
            found.setdefault(scan, []).append(connected("AND", of_files))
    changed = {scan: replace(scan, files_where=_any_of(each)) for scan, each in found.items()}
    return [_with(rel, changed) for rel in rels]


def _with(rel: Rel, scans: Mapping[Scan, Scan]) -> Rel:
    if isinstance(rel, Scan):
        return scans[rel]
    return with_inputs(rel, tuple(_with(each, scans) for each in rel.inputs))


def _conditions(rel: Rel, conditions: Conditions, batch: bool) -> Iterator[tuple[Scan, Conditions]]:
    """Yield each table of a relation, with conditions over its columns."""
    match rel:
        case Scan():
            yield rel, conditions
        case Calc():
            above = _renamed(conditions, dict(zip(rel.names, rel.expressions, strict=True)))
            own = () if rel.condition is None else _conjuncts(rel.condition)
            yield from _conditions(rel.input, (*above, *own), batch)
        case Union():
            names = [each.name for each in rel.columns]
            for part in rel.parts:
                columns = map(reference, part.columns)
                of_part = _renamed(conditions, dict(zip(names, columns, strict=True)))
                yield from _conditions(part, (*of_part,), batch)
        case Watermark() if batch:
            yield from _conditions(rel.input, conditions, batch)
        case _:
            for each in rel.inputs:
                yield from _conditions(each, (), batch)


def _renamed(conditions: Conditions, sources: Mapping[str, Expression]) -> Iterator[Expression]:
    """Yield conditions over the input's columns; those that read computed columns are left out."""
    for condition in conditions:
        if all(isinstance(sources[name], ColumnRef) for name in columns_of(condition)):
            yield over_sources(condition, sources)


def _chooses_files(condition: Expression, columns: Names) -> bool:
    """Return whether a condition is only over columns of files, and cannot fail."""
    read = columns_of(condition)
    return bool(read) and read <= columns and not (varies(condition) or may_fail(condition))


def _conjuncts(condition: Expression) -> Iterator[Expression]:
    if isinstance(condition, Call) and condition.function == "AND":
        for each in condition.arguments:
            yield from _conjuncts(each)
    else:
        yield condition


def _any_of(conditions: Sequence[Expression | None]) -> Expression | None:
    """Return that a row meets one of the conditions; None: one of them is always met."""
    known = [each for each in dict.fromkeys(conditions) if each is not None]
    return None if None in conditions else connected("OR", known)
