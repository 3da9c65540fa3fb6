"""Which relations of a plan keep state that grows without end."""

from __future__ import annotations

from headrace.sql.rel import (
    Aggregate,
    ChangelogNormalize,
    CountWindowAggregate,
    Rel,
    SetOperation,
    Values,
    walk,
)

_SET_TTL = "set table.exec.state.ttl"


def growing_state(rel: Rel, ttl_ms: int) -> list[str]:
    """Return a sentence for each relation of a stream whose state grows with its keys.

    ``ttl_ms``: how long state is kept without a hint; 0: without end.
    """
    found = (_growth(each, ttl_ms) for each in walk(rel) if not _is_bounded(each))
    return [each for each in found if each is not None]


def growing_rows(table: str, rel: Rel, ttl_ms: int) -> list[str]:
    """Return a sentence for a sink that keeps the rows of each primary key, if they grow."""
    if ttl_ms or _is_bounded(rel):
        return []
    return [f"Sink(table=[{table}]) keeps the rows of each primary key without end: {_SET_TTL}"]


def _is_bounded(rel: Rel) -> bool:
    return all(each.inputs or isinstance(each, Values) for each in walk(rel))


def _growth(rel: Rel, ttl_ms: int) -> str | None:
    match rel:
        case Aggregate(keys=keys) if keys and not rel.kept_ms(ttl_ms):
            return (
                f"GroupAggregate(groupBy=[{', '.join(keys)}]) keeps the state of each key without"
                f" end: {_SET_TTL}, give the hint STATE_TTL, or group by a window"
            )
        case ChangelogNormalize(keys=keys) if not ttl_ms:
            named = f"ChangelogNormalize(key=[{', '.join(keys)}])"
            return f"{named} keeps the last row of each key without end: {_SET_TTL}"
        case SetOperation(kind=kind) if not ttl_ms:
            return f"{kind} keeps each row without end: {_SET_TTL}"
        case CountWindowAggregate(keys=keys) if keys:
            return (
                f"CountWindowAggregate(groupBy=[{', '.join(keys)}]) keeps the open windows of each"
                " key without end: as in Flink, they have no time-to-live"
            )
    return None
