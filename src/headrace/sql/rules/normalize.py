"""Sources whose rows replace the row of their key get what makes a changelog of them."""

from __future__ import annotations

from dataclasses import replace

from headrace.common.changelog_mode import ChangelogMode
from headrace.errors import SqlValidationError
from headrace.sql.calls import connected
from headrace.sql.expressions import (
    Expression,
    columns_of,
    implementations,
    over_sources,
)
from headrace.sql.projection import reads
from headrace.sql.rel import (
    Calc,
    ChangelogNormalize,
    Rel,
    Scan,
    StreamScan,
    Watermark,
    reference,
    with_inputs,
)
from headrace.sql.rules.changelog import INSERTS, ScanMode, changelog_mode


def with_normalized_sources(rel: Rel, scan_mode: ScanMode, duplicates: bool) -> Rel:
    """Return the plan with a ``ChangelogNormalize`` over each source that needs one.

    It has the filters of the query, and only the columns that are read.

    ``duplicates``: changes may come twice, from any source.

    Raises:
        SqlValidationError: a source that may give changes twice has no primary key.
    """
    made = _normalized(rel, scan_mode, duplicates)
    return rel if made == rel else _with_columns_read(made)


def _normalized(rel: Rel, scan_mode: ScanMode, duplicates: bool) -> Rel:
    match rel:
        case ChangelogNormalize():
            return rel
        case Scan() | StreamScan():
            mode = changelog_mode(rel, scan_mode, batch=False)
            needed = _is_needed(rel, mode, duplicates)
            return ChangelogNormalize(rel, rel.primary_key) if needed else rel
    inputs = tuple(_normalized(each, scan_mode, duplicates) for each in rel.inputs)
    rel = with_inputs(rel, inputs)
    if isinstance(rel, Calc) and rel.condition is not None:
        filtered = _filtered(rel.input, rel.condition)
        if filtered is not None:
            return replace(rel, input=filtered, condition=None)
    return rel


def _is_needed(scan: Scan | StreamScan, mode: ChangelogMode, duplicates: bool) -> bool:
    if mode.by_key:
        return True
    if mode == INSERTS or not duplicates:
        return False
    name = scan.table[-1] if isinstance(scan, Scan) else f"stream {scan.name}"
    if not scan.primary_key:
        raise SqlValidationError(
            "'table.exec.source.cdc-events-duplicate' needs a primary key in each table of changes:"
            f" {name!r} has none",
            hint="PRIMARY KEY (…) NOT ENFORCED",
        )
    return True


def _filtered(rel: Rel, condition: Expression) -> Rel | None:
    """Return rows without those for which a condition is not true; None: not of this plan.

    So a row that no longer meets the condition is deleted, and one that begins to is inserted.
    """
    if isinstance(rel, ChangelogNormalize):
        if _stays_above(condition):
            return None
        before = rel.condition
        both = [condition] if before is None else [before, condition]
        return replace(rel, condition=connected("AND", both))
    if not isinstance(rel, Calc) or rel.condition is not None:
        return None
    sources = dict(zip(rel.names, rel.expressions, strict=True))
    below = _filtered(rel.input, over_sources(condition, sources))
    return None if below is None else replace(rel, input=below)


def _stays_above(condition: Expression) -> bool:
    """Return whether a condition needs more than rows, which only a ``Calc`` has."""
    varies = reads([condition], chance=True) or reads([condition], chance=False)
    return varies or bool(implementations([condition]))


def _with_columns_read(rel: Rel) -> Rel:
    """Return the plan with only those columns of sources that a projection above them reads."""
    pruned = _pruned(rel, frozenset(rel.names)) if isinstance(rel, Calc) else None
    if pruned is not None:
        return pruned
    return with_inputs(rel, tuple(map(_with_columns_read, rel.inputs)))


def _pruned(rel: Rel, needed: frozenset[str]) -> Rel | None:
    """Return a relation with the columns that are needed; None: it is over no such source."""
    match rel:
        case Calc():
            both = zip(rel.names, rel.expressions, strict=True)
            kept = [(name, made) for name, made in both if name in needed]
            conditions = () if rel.condition is None else (rel.condition,)
            read = [columns_of(each) for each in (*(made for _, made in kept), *conditions)]
            below = _pruned(rel.input, frozenset().union(*read))
            if below is None:
                return None
            names, expressions = tuple(name for name, _ in kept), tuple(made for _, made in kept)
            return Calc(below, names, expressions, rel.condition)
        case Watermark():
            needed |= {rel.column} | columns_of(rel.expression)
            below = _pruned(rel.input, needed)
            fields = tuple(each for each in rel.fields if each.name in needed)
            return None if below is None else replace(rel, input=below, fields=fields)
        case ChangelogNormalize():
            needed |= {*rel.keys}
            needed |= frozenset() if rel.condition is None else columns_of(rel.condition)
            columns = tuple(each for each in rel.columns if each.name in needed)
            names = tuple(each.name for each in columns)
            if columns == rel.columns:
                return rel
            return replace(rel, input=Calc(rel.input, names, tuple(map(reference, columns))))
    return None
