"""Patterns as data: the conditions that they name, and the pattern of a record."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from headrace.cep._conditions import check_result
from headrace.cep._pattern_data import RegisteredConditions
from headrace.cep._pattern_reader import RegisteredCondition
from headrace.cep.conditions import IterativeCondition
from headrace.cep.pattern import Pattern
from headrace.datastream.functions import FilterFunction
from headrace.errors import PlanError, WrongFunctionError
from headrace.runtime.user_function import UserFunction

__all__ = ["PatternRegistry", "pattern_from"]

_CONTEXT = "ctx"
"""The parameter of a plain function that gets the context."""

_Types = type | UnionType | tuple[Any, ...] | None
"""What a program may say of a value: a class, a union, or a tuple of these; None is a type, too."""

_OF_JSON = (bool, int, float, str, list, dict)


class PatternRegistry:
    """Conditions by name, of which patterns that are data are made.

    A pattern names a condition and gives its values: ``{"condition": "amount above", "values":
    {"limit": 100}}``. Its functions are part of the program; patterns come while it runs.
    """

    def __init__(self) -> None:
        self._by_name: dict[str, RegisteredCondition] = {}

    def condition(self, name: str, function: Any = None, /, **types: _Types) -> Any:
        """Register a condition, and return its function.

        ``function``: takes the event first. A parameter ``ctx`` gets the context that
        ``IterativeCondition.filter`` has; all others are values, which a pattern must give unless
        they have defaults. Or an ``IterativeCondition`` or ``SimpleCondition``, whose ``filter``
        has such parameters. Without it the result is a decorator.

        ``types``: what a value must be, by its name: ``limit=float``, ``of=(str, int)``, ``most=int
        | None``. By default what the function's annotations say, if that is a type of JSON.

        Raises:
            PlanError: the name is registered already, or a type is of no value.
            WrongFunctionError: it is no function of an event.
        """
        if not isinstance(name, str) or not name:
            raise PlanError(f"a condition has a name, which is a text, not {name!r:.60}")
        if name in self._by_name:
            raise PlanError(f"two conditions have the name {name!r}")
        if function is None:

            def decorator(decorated: Callable[..., Any]) -> Callable[..., Any]:
                self.condition(name, decorated, **types)
                return decorated

            return decorator
        self._by_name[name] = _registered(name, function, types)
        return function

    def _registered(self) -> RegisteredConditions:
        return RegisteredConditions(dict(self._by_name))


def pattern_from(data: Any, registry: PatternRegistry) -> Pattern:
    """Return the pattern that data describe: a dict, a ``Row`` with names, or JSON.

    Raises:
        MalformedPatternError: the data are of another form, name a condition that the registry does
            not have, or give it other values; or the pattern is not valid.
    """
    return registry._registered().from_record(data)


def _registered(name: str, function: Any, types: dict[str, _Types]) -> RegisteredCondition:
    is_object = isinstance(function, IterativeCondition | FilterFunction)
    if not is_object and (not callable(function) or isinstance(function, type)):
        raise WrongFunctionError(
            f"the condition {name!r} is {function!r:.80}, and no function of an event",
            hint="lambda event, limit: event.amount > limit",
        )
    called = UserFunction(function, "filter") if is_object else UserFunction(function)
    check_result(called.as_callable(), "PatternRegistry.condition", {})
    try:
        parameters = [*inspect.signature(called.as_callable()).parameters.values()]
    except ValueError:  # a builtin without a signature
        parameters = [inspect.Parameter("event", inspect.Parameter.POSITIONAL_ONLY)]
    if not parameters or parameters[0].kind not in (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.VAR_POSITIONAL,
    ):
        raise WrongFunctionError(
            f"the condition {name!r} has no parameter for the event",
            hint="its first parameter is the event",
        )
    rest = parameters[1:]
    context = None
    if isinstance(function, IterativeCondition) and rest:
        context = rest.pop(0).name
    elif any(each.name == _CONTEXT for each in rest):
        context = _CONTEXT
        rest = [each for each in rest if each.name != _CONTEXT]
    values = [
        each
        for each in rest
        if each.kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    ]
    unnamed = [
        each.name
        for each in rest
        if each.kind is inspect.Parameter.POSITIONAL_ONLY
        and each.default is inspect.Parameter.empty
    ]
    if unnamed:
        raise WrongFunctionError(
            f"the condition {name!r} has the parameter {unnamed[0]!r}, which cannot be given by"
            " name",
            hint="values are given by name: leave out the slash (/) after it",
        )
    required = tuple(each.name for each in values if each.default is inspect.Parameter.empty)
    optional = tuple(each.name for each in values if each.name not in required)
    takes_any = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in rest)
    for value in types:
        if value not in (*required, *optional) and not takes_any:
            raise PlanError(f"the condition {name!r} has no value {value!r}, which has a type")
    said = {value: _to_types(name, value, said) for value, said in types.items()}
    known = {**_annotated(called.as_callable(), (*required, *optional)), **said}
    # A method or an object that is called has a parameter for itself, which is ``self``.
    reserved = (parameters[0].name, "self", *(() if context is None else (context,)))
    return RegisteredCondition(
        name, called, context, required, optional, takes_any, known, reserved
    )


def _to_types(name: str, value: str, said: Any) -> tuple[type, ...]:
    """Return the classes that a value may be of."""
    if said is None:
        return (NoneType,)
    if isinstance(said, type) and not get_args(said):
        return (said,)
    is_union = isinstance(said, UnionType) or get_origin(said) is Union
    parts = get_args(said) if is_union else said
    if not isinstance(parts, tuple) or not parts:
        raise PlanError(
            f"the condition {name!r} has the value {value!r}, whose type is {said!r:.60}, and no"
            " class",
            hint=f"{value}=float, {value}=(str, int), or {value}=list for lists of anything",
        )
    return tuple(each for part in parts for each in _to_types(name, value, part))


def _annotated(function: Any, values: tuple[str, ...]) -> dict[str, tuple[type, ...]]:
    """Return the types of values that annotations say."""
    try:
        hints = get_type_hints(function)
    except Exception:  # a name that is not there, or no function that has annotations
        return {}
    return {each: (hints[each],) for each in values if hints.get(each) in _OF_JSON}
