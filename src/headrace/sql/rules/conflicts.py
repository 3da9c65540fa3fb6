"""What a sink with a primary key does with rows of the query that have the same one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from headrace.common.changelog_mode import ChangelogMode
from headrace.errors import SqlValidationError
from headrace.sql.refusals import refuse
from headrace.sql.rel import Rel, Scan, Watermark
from headrace.sql.rules.changelog import INSERTS
from headrace.sql.rules.keys import keeps_updates_together, upsert_keys
from headrace.sql.statements import ConflictAction

_AT_WATERMARKS: tuple[ConflictAction, ...] = ("NOTHING", "ERROR")

Materialize = Literal["AUTO", "NONE", "FORCE"]
"""The values of ``table.exec.sink.upsert-materialize``."""


@dataclass(frozen=True)
class SinkChanges:
    """How the changes of a query become those of a sink.

    ``materialized``: the rows of each primary key are kept. ``upsert_key``: that of the query;
    None: it has none. ``updates_before``: what becomes of rows before updates.
    """

    materialized: bool = False
    upsert_key: tuple[str, ...] | None = None
    updates_before: Literal["kept", "dropped", "deletes"] = "kept"


def sink_changes(
    rel: Rel,
    mode: ChangelogMode,
    accepts: ChangelogMode | None,
    primary_key: Sequence[str],
    action: ConflictAction | None,
    materialize: Materialize,
    table: str,
) -> SinkChanges:
    """Return what is done with the changes of a query.

    ``accepts``: what the sink takes; None: anything.

    Raises:
        SqlValidationError: rows of several keys of the query may have the same primary key, and the
            statement does not say what to do with them; or it says so where that cannot be.
    """
    by_key = accepts is None or accepts.by_key
    takes_inserts = (mode if accepts is None else accepts) == INSERTS
    if action is not None and (takes_inserts or (primary_key and not by_key)):
        raise SqlValidationError(
            f"ON CONFLICT is only for tables that take updates by key: {table!r} takes"
            f" {mode if by_key else accepts}"
        )
    if action in _AT_WATERMARKS:
        _check_watermarks(rel, action)
    key = frozenset(primary_key)
    found = upsert_keys(rel)
    materialized = _is_materialized(rel, mode, by_key, key, action, materialize, table)
    chosen = min(found, key=lambda each: (len(each), sorted(each)), default=None)
    if materialized:
        ordered = None if chosen is None else tuple(sorted(chosen))
        return SinkChanges(materialized=True, upsert_key=ordered)
    if accepts is None or not accepts.by_key or mode.by_key or mode == INSERTS:
        return SinkChanges()
    together = key in found and keeps_updates_together(rel)
    return SinkChanges(updates_before="dropped" if together else "deletes")


def _is_materialized(
    rel: Rel,
    mode: ChangelogMode,
    by_key: bool,
    key: frozenset[str],
    action: ConflictAction | None,
    materialize: Materialize,
    table: str,
) -> bool:
    if not key or not by_key or materialize == "NONE":
        return False
    found = upsert_keys(rel)
    together = any(each <= key for each in found)
    if action in _AT_WATERMARKS and (materialize == "FORCE" or not together):
        refuse(f"ON CONFLICT DO {action}")
    if materialize == "FORCE":
        return True
    if mode == INSERTS or together:
        return False
    if action is None:
        shown = " or ".join(f"[{', '.join(sorted(each))}]" for each in found) or "none"
        raise SqlValidationError(
            f"the query has an upsert key that differs from the primary key of table {table!r}",
            where={"primary key": ", ".join(sorted(key)), "upsert key": shown},
            hint="say which of several rows with the same primary key stays: ON CONFLICT DO"
            " DEDUPLICATE (the last one)",
        )
    return True


def _check_watermarks(rel: Rel, action: ConflictAction) -> None:
    """Raise an error for tables without watermarks: conflicts are found as watermarks pass."""
    missing = [*dict.fromkeys(_without_watermark(rel))]
    if missing:
        raise SqlValidationError(
            f"ON CONFLICT DO {action} needs a watermark in each table that is read",
            where={"tables without WATERMARK": ", ".join(missing)},
        )


def _without_watermark(rel: Rel) -> Iterator[str]:
    if isinstance(rel, Scan):
        yield ".".join(rel.table)
    if not isinstance(rel, Watermark):
        for each in rel.inputs:
            yield from _without_watermark(each)
