"""Which relations of a plan keep state that grows without end."""

from __future__ import annotations

from headrace.sql.rel import Aggregate, Rel, Values, walk


def growing_state(rel: Rel, ttl_ms: int) -> list[str]:
    """Return a sentence for each relation of a stream whose state grows with its keys.

    ``ttl_ms``: how long state is kept without a hint; 0: without end.
    """
    return [
        f"GroupAggregate(groupBy=[{', '.join(each.keys)}]) keeps the state of each key without end:"
        " set table.exec.state.ttl, give the hint STATE_TTL, or group by a window"
        for each in walk(rel)
        if isinstance(each, Aggregate) and _grows(each, ttl_ms)
    ]


def _grows(rel: Aggregate, ttl_ms: int) -> bool:
    is_bounded = all(each.inputs or isinstance(each, Values) for each in walk(rel))
    kept_ms = ttl_ms if rel.ttl_ms is None else rel.ttl_ms
    return bool(rel.keys) and not kept_ms and not is_bounded
