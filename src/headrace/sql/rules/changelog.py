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


def changelog_mode(rel: Rel, scan_mode: ScanMode, batch: bool) -> ChangelogMode:
    """Return the row kinds of a relation; in a batch, all are inserts."""
    if batch:
        return INSERTS
    if isinstance(rel, Scan):
        return scan_mode(rel)
    if isinstance(rel, StreamScan):
        return MODES[rel.gives]
    if isinstance(rel, WindowAggregate):
        if rel.emit is None:
            return INSERTS
        given = changelog_mode(rel.input, scan_mode, batch)
        return ChangelogMode.updates() if given == INSERTS else ChangelogMode.all()
    if isinstance(rel, ChangelogNormalize):
        return ChangelogMode.all()
    if isinstance(rel, Aggregate):
        given = changelog_mode(rel.input, scan_mode, batch)
        if given != INSERTS:
            return ChangelogMode.all()
        # Of equal rows the first one stays. No group is deleted, as none loses a row.
        changes = any(call.function != KEY_VALUE.name for call in rel.calls)
        return ChangelogMode.updates() if changes else INSERTS
    if isinstance(rel, SetOperation):
        found = changes_of(
            rel.kind, [changelog_mode(each, scan_mode, batch) for each in rel.inputs]
        )
        assert found is not None, "every relation has a mode"
        return found
    modes = [changelog_mode(each, scan_mode, batch) for each in rel.inputs]
    found = union(modes) if modes else INSERTS
    assert found is not None, "every relation has a mode"
    return found
