"""Makes conditions of the functions and objects that a program gives to ``where`` and others."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

from headrace.cep._column_conditions import to_tree
from headrace.cep.conditions import IterativeCondition
from headrace.common._column_expression import ColumnExpression
from headrace.datastream.functions import FilterFunction, Function
from headrace.errors import WrongFunctionError
from headrace.operators.patterns.conditions import Call, Condition
from headrace.runtime.user_function import UserFunction

_HINT = "lambda event: event.price > 100, or lambda event, ctx: ..."


def to_condition(given: Any, call: str, site: Any = None) -> Condition:
    """Return a condition of a user's function, object or expression over columns.

    What is a condition already stays as it is.

    ``call`` and ``site``: for error messages.

    Raises:
        WrongFunctionError: it is neither, takes neither one nor two arguments, or does not return
            whether the condition holds, as a coroutine or a generator.
    """
    if isinstance(given, Condition):
        return given
    if isinstance(given, ColumnExpression):
        return to_tree(given, site)
    where = {} if site is None else {"called": str(site)}
    if isinstance(given, IterativeCondition | FilterFunction):
        takes_context = isinstance(given, IterativeCondition)
        arguments = _arguments(given.filter)
        if arguments is not None and not arguments[0] <= 1 + takes_context <= arguments[1]:
            wanted = "an event and a context" if takes_context else "an event"
            raise WrongFunctionError(
                f"{type(given).__name__}.filter() must take {wanted}", where=where
            )
        check_result(given.filter, call, where)
        return Call(UserFunction(given, "filter"), takes_context)
    if isinstance(given, type | Function) or not callable(given):
        is_class = isinstance(given, type)
        is_ours = is_class and issubclass(given, IterativeCondition | FilterFunction)
        raise WrongFunctionError(
            f"{call}() takes a condition of the event, not {_described(given)}",
            where=where,
            hint=f"make an object: {given.__name__}()" if is_ours else _HINT,
        )
    check_result(given, call, where)
    return Call(UserFunction(given), _takes_context(given, call, where))


def _described(given: Any) -> str:
    if isinstance(given, type):
        return f"the class {given.__name__}"
    return f"{given!r:.80}"


def check_result(function: Any, call: str, where: dict[str, str]) -> None:
    """Refuse what returns a coroutine or a generator: as a value it is always true."""
    while isinstance(function, partial):
        function = function.func
    if not inspect.isroutine(function):
        function = type(function).__call__
    kinds = (
        (inspect.iscoroutinefunction, "a coroutine"),
        (inspect.isasyncgenfunction, "an asynchronous generator"),
        (inspect.isgeneratorfunction, "a generator"),
    )
    for is_kind, result in kinds:
        if is_kind(function):
            raise WrongFunctionError(
                f"a condition for {call}() returns true or false, but"
                f" {getattr(function, '__qualname__', function)!r} returns {result}",
                where=where,
                hint="return the result; what needs a lookup is done upstream, with AsyncDataStream"
                if result != "a generator"
                else "return, in place of yield",
            )


def _arguments(function: Any) -> tuple[int, float] | None:
    """Return how many arguments a function needs, and takes at most; None: not known."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a builtin without a signature
        return None
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    own = [each for each in parameters if each.kind in kinds]
    by_name = [
        each
        for each in parameters
        if each.kind is each.KEYWORD_ONLY and each.default is inspect.Parameter.empty
    ]
    if by_name:
        return 1 << 30, 0
    needed = sum(each.default is inspect.Parameter.empty for each in own)
    is_open = any(each.kind is each.VAR_POSITIONAL for each in parameters)
    return needed, float("inf") if is_open else len(own)


def _takes_context(function: Any, call: str, where: dict[str, str]) -> bool:
    arguments = _arguments(function)
    if arguments is None:
        return False
    needed, most = arguments
    if needed > 2 or most < 1:
        raise WrongFunctionError(
            f"a condition for {call}() takes the event, and perhaps a context,"
            f" but {getattr(function, '__name__', function)!r} takes other arguments",
            where=where,
            hint="lambda event: ..., or lambda event, ctx: ...",
        )
    return needed == 2
