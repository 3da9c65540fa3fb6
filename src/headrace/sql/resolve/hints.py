"""Hints: ``/*+ … */`` after SELECT, and after the name of a table."""

from __future__ import annotations

from sqlglot import exp

from headrace.errors import SqlValidationError

_OF_QUERIES = (
    "STATE_TTL",
    "LOOKUP",
    "BROADCAST",
    "SHUFFLE_HASH",
    "SHUFFLE_MERGE",
    "NEST_LOOP",
    "MULTI_JOIN",
)


def check_hints(node: exp.Select) -> None:
    """Refuse hints after SELECT that Flink does not know."""
    hint = node.args.get("hint")
    for each in () if hint is None else hint.expressions:
        name = each.name.upper()
        if name not in _OF_QUERIES:
            raise SqlValidationError(
                f"no hint of a query has the name {each.name}",
                where={"hints": ", ".join(_OF_QUERIES)},
            )


def options_of(hint: exp.Expr) -> dict[str, str]:
    """Return the options of a hint ``OPTIONS('key' = 'value')``.

    Raises:
        SqlValidationError: the hint is another one.
    """
    if hint.name.upper() != "OPTIONS":
        raise SqlValidationError(
            f"no hint of a table has the name {hint.name}", hint="OPTIONS('key' = 'value')"
        )
    return {each.this.name: each.expression.name for each in hint.find_all(exp.EQ)}
