"""Conditions of a pattern's stages as classes; a plain function is a condition, too."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from headrace.common._unsupported import unsupported
from headrace.datastream.functions import FilterFunction, Function
from headrace.operators.patterns.conditions import ConditionContext

__all__ = [
    "BooleanConditions",
    "IterativeCondition",
    "RichAndCondition",
    "RichCompositeIterativeCondition",
    "RichIterativeCondition",
    "RichNotCondition",
    "RichOrCondition",
    "SimpleCondition",
    "SubtypeCondition",
]


class IterativeCondition(Function):
    """A condition that may look at the events that the partial match has taken so far."""

    Context = ConditionContext

    @abstractmethod
    def filter(self, value: Any, ctx: ConditionContext) -> bool:
        """Return whether the stage takes an event.

        ``ctx.get_events_for_pattern(name)`` returns the events that a stage has taken so far: an
        empty list if it has taken none, or if there is no such stage. ``ctx.timestamp()`` returns
        the event's timestamp (ms).
        """


class RichIterativeCondition(IterativeCondition):
    """The same as ``IterativeCondition``: each condition object may have ``open`` and ``close``."""


class SimpleCondition(FilterFunction):
    """A condition of the event alone."""

    @abstractmethod
    def filter(self, value: Any) -> bool:
        """Return whether the stage takes an event."""

    @staticmethod
    def of(condition: Any) -> Any:
        """Return a function, or a ``FilterFunction``, as it is: it is a condition already."""
        return condition


class SubtypeCondition(SimpleCondition):
    """Instances of a class; ``Pattern.subtype`` is shorter."""

    def __init__(self, subtype: type) -> None:
        self.subtype = subtype

    def filter(self, value: Any) -> bool:
        """Return whether the event is an instance of the class."""
        return isinstance(value, self.subtype)


_COMBINE = "where() and or_() combine conditions, and a Python function may contain and, or and not"


def _refused(name: str) -> Any:
    return unsupported(f"headrace.cep.{name}", _COMBINE)


BooleanConditions = _refused("BooleanConditions")
RichAndCondition = _refused("RichAndCondition")
RichCompositeIterativeCondition = _refused("RichCompositeIterativeCondition")
RichNotCondition = _refused("RichNotCondition")
RichOrCondition = _refused("RichOrCondition")
