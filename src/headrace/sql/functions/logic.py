"""AND, OR, NOT, IS TRUE. The parts of AND and OR that may fail are computed by ``evaluate``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from headrace.sql.expressions import Call
from headrace.sql.functions.function import Function, Session
from headrace.sql.functions.kernels import arrow
from headrace.sql.functions.rules import NOT_NULL, a_boolean, takes
from headrace.sql.types import BOOLEAN


def _kleene(name: str) -> Callable[..., Any]:
    def kernel(call: Call, arguments: Sequence[Any], session: Session) -> Any:
        import pyarrow.compute as pc

        return reduce(getattr(pc, name), arguments)

    return kernel


def _is(value: bool, otherwise: bool) -> Callable[..., Any]:
    """Return whether the condition is ``value``; the result if it is not is ``otherwise``."""

    def kernel(call: Call, arguments: Sequence[Any], session: Session) -> Any:
        import pyarrow.compute as pc

        known = arguments[0] if value else pc.invert(arguments[0])
        is_value = pc.fill_null(known, False)
        return pc.invert(is_value) if otherwise else is_value

    return kernel


_TEST = takes(a_boolean, gives=BOOLEAN, nulls=NOT_NULL)

FUNCTIONS = (
    Function(
        "AND",
        takes(a_boolean, a_boolean, gives=BOOLEAN, repeated=True),
        _kleene("and_kleene"),
        ("boolean1 AND boolean2",),
        "TRUE if both are TRUE, FALSE if one is FALSE, else NULL.",
        (("TRUE AND FALSE", "false"), ("FALSE AND CAST(NULL AS BOOLEAN)", "false")),
    ),
    Function(
        "OR",
        takes(a_boolean, a_boolean, gives=BOOLEAN, repeated=True),
        _kleene("or_kleene"),
        ("boolean1 OR boolean2",),
        "TRUE if one is TRUE, FALSE if both are FALSE, else NULL.",
        (("TRUE OR FALSE", "true"), ("FALSE OR CAST(NULL AS BOOLEAN)", None)),
    ),
    Function(
        "NOT",
        takes(a_boolean, gives=BOOLEAN),
        arrow("invert"),
        ("NOT boolean",),
        "TRUE if it is FALSE, FALSE if it is TRUE, NULL if it is NULL.",
        (("NOT TRUE", "false"),),
    ),
    Function(
        "IS TRUE",
        _TEST,
        _is(True, False),
        ("boolean IS TRUE",),
        "Whether it is TRUE; never NULL.",
        (("TRUE IS TRUE", "true"),),
    ),
    Function(
        "IS NOT TRUE",
        _TEST,
        _is(True, True),
        ("boolean IS NOT TRUE",),
        "Whether it is FALSE or NULL.",
        (("FALSE IS NOT TRUE", "true"),),
    ),
    Function(
        "IS FALSE",
        _TEST,
        _is(False, False),
        ("boolean IS FALSE",),
        "Whether it is FALSE; never NULL.",
        (("FALSE IS FALSE", "true"),),
    ),
    Function(
        "IS NOT FALSE",
        _TEST,
        _is(False, True),
        ("boolean IS NOT FALSE",),
        "Whether it is TRUE or NULL.",
        (("FALSE IS NOT FALSE", "false"),),
    ),
)
