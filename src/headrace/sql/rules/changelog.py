"""Which row kinds each relation gives."""

from __future__ import annotations

from collections.abc import Callable

from headrace.common.changelog_mode import ChangelogMode, union
from headrace.operators.columns.set_operation import changes_of
from headrace.sql.aggregates.table import KEY_VALUE
from headrace.sql.rel import (
    Aggregate,
    ChangelogNormalize,
    Rel,
    Scan,
    SetOperation,
    StreamScan,
    WindowAggregate,
)

ScanMode = Callable[[Scan], ChangelogMode]
"""Gives the mode of a table's connector."""

INSERTS = ChangelogMode.insert_only()

MODES = {
    "inserts": INSERTS,
    "changes": ChangelogMode.all(),
    "upserts": ChangelogMode.upsert(),
}
"""The mode of each kind of ``StreamScan``."""


def changelog_mode(
    rel: Rel, scan_mode: ScanMode, batch: bool, ttl_ms: int | None = None
) -> ChangelogMode:
    """Return the row kinds of a relation; in a batch, all are inserts.

    ``ttl_ms``: how long state is kept without a hint; 0: without end; None: all state is kept
    without end, also where a hint says otherwise.
    """

    def mode_of(each: Rel) -> ChangelogMode:
        return changelog_mode(each, scan_mode, batch, ttl_ms)

    if batch:
        return INSERTS
    if isinstance(rel, Scan):
        return scan_mode(rel)
    if isinstance(rel, StreamScan):
        return MODES[rel.gives]
    if isinstance(rel, WindowAggregate):
        if rel.emit is None:
            return INSERTS
        return ChangelogMode.updates() if mode_of(rel.input) == INSERTS else ChangelogMode.all()
    if isinstance(rel, ChangelogNormalize):
        return ChangelogMode.all()
    if isinstance(rel, Aggregate):
        if mode_of(rel.input) != INSERTS:
            return ChangelogMode.all()
        # Of equal rows the first one stays. No group is deleted, as none loses a row.
        changes = any(call.function != KEY_VALUE.name for call in rel.calls)
        again = ttl_ms is not None and rel.kept_ms(ttl_ms) > 0  # equal results are given again
        return ChangelogMode.updates() if changes or again else INSERTS
    if isinstance(rel, SetOperation):
        found = changes_of(rel.kind, [mode_of(each) for each in rel.inputs], bool(ttl_ms))
        assert found is not None, "every relation has a mode"
        return found
    modes = [mode_of(each) for each in rel.inputs]
    found = union(modes) if modes else INSERTS
    assert found is not None, "every relation has a mode"
    return found
