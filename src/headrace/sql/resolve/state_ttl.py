"""The hint ``STATE_TTL('table' = '1 d')`` of a SELECT: how long its aggregations keep state."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from headrace.common._options.values import ValueKind, parse
from headrace.errors import SqlValidationError
from headrace.sql.rel import Aggregate, OverInput, Rel
from headrace.sql.resolve.grouping import find_aggregates

STATE_TTL = "STATE_TTL"


def with_state_ttl(node: exp.Select, rel: Rel) -> Rel:
    """Return the plan of a SELECT whose own aggregations have the time to live of its hint.

    Raises:
        SqlValidationError: the hint names what is not in FROM, or is no duration.
    """
    ttl_ms = _ttl_ms(node)
    if ttl_ms is None:
        return rel
    aggregates = any(next(find_aggregates(each), None) is not None for each in node.expressions)
    groups = bool(node.args.get("group") or node.args.get("having") or aggregates)
    return _kept(rel, ttl_ms, groups + bool(node.args.get("distinct")))


def _kept(rel: Rel, ttl_ms: int, aggregations: int) -> Rel:
    """Return a plan whose uppermost aggregations keep state for that long."""
    if not aggregations or not isinstance(rel, OverInput):
        return rel
    if isinstance(rel, Aggregate):
        rel, aggregations = replace(rel, ttl_ms=ttl_ms), aggregations - 1
    return replace(rel, input=_kept(rel.input, ttl_ms, aggregations))


def _ttl_ms(node: exp.Select) -> int | None:
    """Return the time to live that hints give to what is in FROM; None: they give none."""
    hint = node.args.get("hint")
    given = {
        each.this.name: each.expression.name
        for call in (() if hint is None else hint.expressions)
        if isinstance(call, exp.Anonymous) and call.name.upper() == STATE_TTL
        for each in call.expressions
        if isinstance(each, exp.EQ)
    }
    if not given:
        return None
    names = _names_in_from(node)
    unknown = [name for name in given if name not in names]
    if unknown:
        raise SqlValidationError(
            f"the hint {STATE_TTL} names {unknown[0]!r}, which is not a table of this query",
            where={"tables": ", ".join(sorted(names))},
            hint="a table with an alias is named by its alias",
        )
    durations = [_duration_ms(text) for text in given.values()]
    return durations[0]


def _names_in_from(node: exp.Select) -> set[str]:
    clause = node.args.get("from_")
    sources = [] if clause is None else [clause.this]
    sources += [join.this for join in node.args.get("joins") or ()]
    return {each.alias_or_name for each in sources} - {""}


def _duration_ms(text: str) -> int:
    try:
        found: int = parse(ValueKind.DURATION, text)
    except ValueError as error:
        raise SqlValidationError(
            f"the hint {STATE_TTL} has {text!r}, which is not a duration", hint="for example '1 d'"
        ) from error
    return found
