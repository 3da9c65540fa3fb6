"""The hints in ``/*+ … */``, and where they stand."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from sqlglot import exp

from headrace.errors import SqlValidationError
from headrace.sql.places import add_place

_OF_TABLE = ("OPTIONS",)
_OF_SELECT = (
    "STATE_TTL",
    "BROADCAST",
    "LOOKUP",
    "MULTI_JOIN",
    "NEST_LOOP",
    "SHUFFLE_HASH",
    "SHUFFLE_MERGE",
)
"""All but the first are for joins, and have no effect on a query without joins."""


def check_hints(node: exp.Select) -> None:
    """Check the hints after SELECT.

    Raises:
        SqlValidationError: one does not exist, or belongs elsewhere.
    """
    hint = node.args.get("hint")
    _check(() if hint is None else hint.expressions, _OF_SELECT)


def table_options(hints: Iterable[exp.Expr]) -> dict[str, str]:
    """Return the options of hints after a table, such as ``OPTIONS('key' = 'value')``.

    Raises:
        SqlValidationError: a hint does not exist, or belongs elsewhere.
    """
    given = [*hints]
    _check(given, _OF_TABLE)
    pairs = (pair for each in given for pair in each.find_all(exp.EQ))
    return {each.this.name: each.expression.name for each in pairs}


def _check(hints: Iterable[exp.Expr], names: tuple[str, ...]) -> None:
    for each in hints:
        if each.name.upper() not in names:
            error = _error(each.name, names)
            add_place(error, each)
            raise error


def _error(name: str, names: tuple[str, ...]) -> SqlValidationError:
    if name.upper() in _OF_TABLE:
        problem, advice = "must stand after the name of a table", f"FROM t /*+ {name}(…) */"
    elif name.upper() in _OF_SELECT:
        problem, advice = "must stand after SELECT", f"SELECT /*+ {name}(…) */"
    else:
        near = get_close_matches(name.upper(), _OF_TABLE + _OF_SELECT, 1)
        problem = f"does not exist; those that may stand here: {', '.join(names)}"
        advice = f"did you mean {near[0]}?" if near else ""
    return SqlValidationError(f"the hint {name} {problem}", hint=advice or None)
