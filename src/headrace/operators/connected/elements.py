"""The methods of a function of two streams, as operators call them.

As in PyFlink, a function for ``map`` or ``flat_map`` is run as a process function is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Element = Callable[[Any, Any], Iterable[Any] | None]
"""Takes a value and a context, and gives the results."""


def process_elements(target: Any) -> tuple[Element, Element]:
    """The two methods of a CoProcess- or KeyedCoProcessFunction."""
    return target.process_element1, target.process_element2


def map_elements(target: Any) -> tuple[Element, Element]:
    """The two methods of a CoMapFunction; a result of None is no record."""
    return _one_or_none(target.map1), _one_or_none(target.map2)


def flat_map_elements(target: Any) -> tuple[Element, Element]:
    """The two methods of a CoFlatMapFunction."""
    return _without_context(target.flat_map1), _without_context(target.flat_map2)


def broadcast_elements(target: Any) -> tuple[Element, Element]:
    """The two methods of a BroadcastProcessFunction."""
    return target.process_element, target.process_broadcast_element


def _one_or_none(function: Callable[[Any], Any]) -> Element:
    def element(value: Any, ctx: Any) -> Iterable[Any] | None:
        result = function(value)
        return None if result is None else [result]

    return element


def _without_context(function: Callable[[Any], Any]) -> Element:
    def element(value: Any, ctx: Any) -> Any:
        return function(value)

    return element
