"""Converts the functions that a program passes to ``UserFunction``s."""

from __future__ import annotations

from typing import Any

from headrace.common._arguments import with_article
from headrace.datastream.functions import Function
from headrace.errors import WrongFunctionError
from headrace.graph.transformation import CallSite
from headrace.runtime.user_function import UserFunction

_OURS = ("headrace.datastream.functions", "headrace.datastream._functions.")


def user_function(
    given: Any,
    kind: type[Function],
    method: str,
    call: str,
    stream: str,
    site: CallSite,
    *,
    plain: bool = True,
) -> UserFunction:
    """The function for an operator: an object of ``kind``, or, if ``plain``, any callable.

    Raises:
        WrongFunctionError: ``given`` is neither.
    """
    if isinstance(given, kind):
        return UserFunction(given, method)
    if plain and callable(given) and not isinstance(given, Function | type):
        return UserFunction(given)
    wanted = (
        f"{with_article(kind.__name__)} or a plain function"
        if plain
        else with_article(kind.__name__)
    )
    hint = None
    if isinstance(given, type) and issubclass(given, Function):
        got, hint = f"the class {given.__name__} itself", f"make an object: {given.__name__}()"
    elif isinstance(given, type):
        if plain:  # a class is a callable, too: str, int, a dataclass
            return UserFunction(given)
        got = f"the class {given.__name__}"
    elif isinstance(given, Function):
        got = with_article(_function_kind(given))
    else:
        got = with_article(type(given).__name__)
    raise WrongFunctionError(
        f"{call}() takes {wanted}, not {got}",
        where={"stream": stream, "called": str(site)},
        hint=hint,
    )


def is_associative(function: UserFunction) -> bool:
    """Whether a reduction is declared as such (``associative``), and cannot have state."""
    target = function.target
    return bool(getattr(target, "associative", False)) and not (
        isinstance(target, Function) and type(target).open is not Function.open
    )


def _function_kind(function: Function) -> str:
    """The function's class, with its base class of Headrace."""
    name = type(function).__name__
    for base in type(function).__mro__:
        if base.__module__.startswith(_OURS):
            return name if base.__name__ == name else f"{base.__name__} ({name})"
    return name
