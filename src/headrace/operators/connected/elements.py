"""The methods of two-input functions, as process functions: ``(value, ctx) -> results``.

Map and flat-map functions are run as process functions too, as in PyFlink.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Element = Callable[[Any, Any], Iterable[Any] | None]
"""Takes a value and a context, and returns the results."""


def process_elements(target: Any) -> tuple[Element, Element]:
    """Return the methods of a ``CoProcessFunction`` or ``KeyedCoProcessFunction``."""
    return target.process_element1, target.process_element2


def map_elements(target: Any) -> tuple[Element, Element]:
    """Return the methods of a ``CoMapFunction``; a result of None is not emitted."""
    return _one_or_none(target.map1), _one_or_none(target.map2)


def flat_map_elements(target: Any) -> tuple[Element, Element]:
    """Return the methods of a ``CoFlatMapFunction``."""
    return _without_context(target.flat_map1), _without_context(target.flat_map2)


def broadcast_elements(target: Any) -> tuple[Element, Element]:
    """Return the methods of a ``BroadcastProcessFunction``."""
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
