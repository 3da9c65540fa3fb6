"""The advice of ``EXPLAIN PLAN_ADVICE``."""

from __future__ import annotations

from headrace.sql.rel import Aggregate, Rel, walk

_TWO_PHASES = (
    "[ADVICE] You might want to enable local-global two-phase optimization by configuring"
    " ('table.exec.mini-batch.enabled' to 'true',"
    " 'table.exec.mini-batch.allow-latency' to a positive long value,"
    " 'table.exec.mini-batch.size' to a positive long value)."
    " Here the first of the three is enough."
)


def advice_of(rel: Rel, *, mini_batch: bool) -> list[str]:
    """Return advice that may make a stream's plan faster, in Flink's words."""
    grouped = any(isinstance(each, Aggregate) and each.keys for each in walk(rel))
    return [_TWO_PHASES] if grouped and not mini_batch else []
