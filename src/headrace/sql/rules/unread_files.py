"""Files whose rows a query leaves out are not read.

All rows of a file have the same values in some columns: those of its folder, and about the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce

from headrace.sql.calls import resolve_call
from headrace.sql.constant_rows import varies
from headrace.sql.evaluate import may_fail
from headrace.sql.expressions import Call, ColumnRef, Expression, columns_of, transform
from headrace.sql.rel import Calc, Rel, Scan, Watermark, with_inputs

Names = frozenset[str]
Condition = Expression | None
"""Other rows are not needed; None: all are."""


def with_files_read(
    rels: Sequence[Rel], columns_of_files: Callable[[Scan], Names], *, batch: bool
) -> list[Rel]:
    """Return the plans of one job, whose tables read only the files that any of them needs.

    ``columns_of_files``: the columns of a table with the same value in all rows of a file.
    ``batch``: there are no watermarks, which rows advance also if they are left out later.
    """
    found: dict[Scan, list[Condition]] = {}
    for rel in rels:
        for scan, condition in _conditions(rel, None, batch):
            found.setdefault(scan, []).append(_over(condition, columns_of_files(scan)))
    changed = {scan: replace(scan, files_where=_any(each)) for scan, each in found.items()}
    return [_with(rel, changed) for rel in rels]


def _with(rel: Rel, scans: dict[Scan, Scan]) -> Rel:
    if isinstance(rel, Scan):
        return scans[rel]
    return with_inputs(rel, tuple(_with(each, scans) for each in rel.inputs))


def _conditions(rel: Rel, condition: Condition, batch: bool) -> Iterator[tuple[Scan, Condition]]:
    """Yield each table of a relation, with the condition that its rows must meet."""
    match rel:
        case Scan():
            yield rel, condition
        case Calc():
            sources = dict(zip(rel.names, rel.expressions, strict=True))
            above = None if condition is None else _inlined(condition, sources)
            parts = [each for each in (above, rel.condition) if each is not None]
            below = reduce(_both, parts) if parts else None
            yield from _conditions(rel.input, below, batch)
        case Watermark() if batch:
            yield from _conditions(rel.input, condition, batch)
        case _:
            for each in rel.inputs:
                yield from _conditions(each, None, batch)


def _inlined(condition: Expression, sources: dict[str, Expression]) -> Expression:
    def source(each: Expression) -> Expression | None:
        return sources[each.name] if isinstance(each, ColumnRef) else None

    return transform(condition, source)


def _over(condition: Condition, columns: Names) -> Condition:
    """Return the part of a condition that is only over these columns, and that cannot fail."""
    parts = [
        each
        for each in _conjuncts(condition)
        if columns_of(each) and columns_of(each) <= columns and not (varies(each) or may_fail(each))
    ]
    return reduce(_both, parts) if parts else None


def _conjuncts(condition: Condition) -> Iterator[Expression]:
    if isinstance(condition, Call) and condition.function == "AND":
        for each in condition.arguments:
            yield from _conjuncts(each)
    elif condition is not None:
        yield condition


def _any(conditions: Sequence[Condition]) -> Condition:
    """Return what one of the conditions at least says of a row."""
    known = [*dict.fromkeys(each for each in conditions if each is not None)]
    if not known or None in conditions:
        return None
    return reduce(lambda one, other: resolve_call("OR", (one, other)), known)


def _both(one: Expression, other: Expression) -> Expression:
    return resolve_call("AND", (one, other))
