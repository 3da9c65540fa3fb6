"""Finds out which kinds of timers a trigger sets."""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType
from typing import Any, NamedTuple

from headrace.operators.inspection import loaded_attributes, reachable_attributes


class Clocks(NamedTuple):
    """The kinds of timers that may be set."""

    event_time: bool
    processing_time: bool


def clocks_of(trigger: Any) -> Clocks:
    """Return the kinds of timers that the trigger's code sets, including nested triggers."""
    names: set[str] = set()
    for one in _list_nested(trigger):
        names |= reachable_attributes(one)  # in the user's modules
        for base in type(one).__mro__:  # Headrace's own
            for member in vars(base).values():
                if isinstance(member, FunctionType):
                    names |= loaded_attributes(member.__code__)
    return Clocks("register_event_time_timer" in names, "register_processing_time_timer" in names)


def _list_nested(trigger: Any) -> Iterator[Any]:
    yield trigger
    for value in getattr(trigger, "__dict__", {}).values():
        if hasattr(value, "on_element"):
            yield from _list_nested(value)
