"""Conditions of a pattern's stages as classes; a plain function is a condition, too."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from typing import Any

from headrace.datastream.functions import Function
from headrace.errors import WrongFunctionError
from headrace.operators.patterns.conditions import Call, Condition, ConditionContext
from headrace.runtime.user_function import UserFunction

Context = ConditionContext
"""What a condition gets beside the event; see ``IterativeCondition.filter``."""


class IterativeCondition(Function):
    """A condition that may look at the events that the partial match has taken so far."""

    @abstractmethod
    def filter(self, value: Any, ctx: ConditionContext) -> bool:
        """Return whether the stage takes an event.

        ``ctx.get_events_for_pattern(name)`` returns the events that a stage has taken;
        ``ctx.timestamp()`` the event's timestamp (ms).
        """


class RichIterativeCondition(IterativeCondition):
    """The same; each function object may have ``open`` and ``close`` here."""


class SimpleCondition(Function):
    """A condition of the event alone."""

    @abstractmethod
    def filter(self, value: Any) -> bool:
        """Return whether the stage takes an event."""

    @staticmethod
    def of(condition: Any) -> Any:
        """Return a function as a condition: it is one already."""
        return condition


def to_condition(given: Any, call: str) -> Condition:
    """Return a condition of a user's function or object.

    Raises:
        WrongFunctionError: it is neither, or takes neither one nor two arguments.
    """
    if isinstance(given, IterativeCondition):
        return Call(UserFunction(given, "filter"), True)
    if isinstance(given, SimpleCondition):
        return Call(UserFunction(given, "filter"))
    if not callable(given) or isinstance(given, type):
        raise WrongFunctionError(
            f"{call}() takes a function of the event, not {given!r:.80}",
            hint="lambda event: event.price > 100, or lambda event, ctx: ...",
        )
    return Call(UserFunction(given), _takes_context(given, call))


def _takes_context(function: Any, call: str) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # a builtin without a signature
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    own = [each for each in parameters if each.kind in kinds]
    needed = [each for each in own if each.default is inspect.Parameter.empty]
    if len(needed) > 2 or (not own and not any(p.kind is p.VAR_POSITIONAL for p in parameters)):
        raise WrongFunctionError(
            f"a condition for {call}() takes the event, and perhaps a context,"
            f" but {getattr(function, '__name__', function)!r} takes {len(needed)} arguments",
            hint="lambda event: ..., or lambda event, ctx: ...",
        )
    return len(needed) == 2
