"""Converts the functions that a program passes to ``UserFunction``s."""

from __future__ import annotations

from typing import Any

from headrace.common._arguments import with_article
from headrace.datastream.functions import Function
from headrace.errors import WrongFunctionError
from headrace.graph.transformation import CallSite
from headrace.runtime.user_function import UserFunction

_OURS = ("headrace.datastream.functions", "headrace.datastream._functions.")


def to_user_function(
    func: Any,
    function_class: type[Function],
    method: str,
    call: str,
    stream: str,
    site: CallSite,
    *,
    accepts_callable: bool = True,
) -> UserFunction:
    """Return an operator's function, which calls ``method`` of an object of ``function_class``.

    ``accepts_callable``: any other callable is used as it is. ``call``, ``stream`` and ``site``
    are for the error message.

    Raises:
        WrongFunctionError: ``func`` is neither.
    """
    if isinstance(func, function_class):
        return UserFunction(func, method)
    if accepts_callable and callable(func) and not isinstance(func, Function | type):
        return UserFunction(func)
    wanted = (
        f"{with_article(function_class.__name__)} or a plain function"
        if accepts_callable
        else with_article(function_class.__name__)
    )
    hint = None
    if isinstance(func, type) and issubclass(func, Function):
        got, hint = f"the class {func.__name__} itself", f"make an object: {func.__name__}()"
    elif isinstance(func, type):
        if accepts_callable:  # a class is a callable, too: str, int, a dataclass
            return UserFunction(func)
        got = f"the class {func.__name__}"
    elif isinstance(func, Function):
        got = with_article(_function_kind(func))
    else:
        got = with_article(type(func).__name__)
    raise WrongFunctionError(
        f"{call}() takes {wanted}, not {got}",
        where={"stream": stream, "called": str(site)},
        hint=hint,
    )


def is_associative(function: UserFunction) -> bool:
    """Return whether a reduction is declared as such (``associative``), and cannot have state."""
    target = function.target
    return bool(getattr(target, "associative", False)) and not (
        isinstance(target, Function) and type(target).open is not Function.open
    )


def _function_kind(function: Function) -> str:
    """Return the function's class, with its base class of Headrace."""
    name = type(function).__name__
    for base in type(function).__mro__:
        if base.__module__.startswith(_OURS):
            return name if base.__name__ == name else f"{base.__name__} ({name})"
    return name
