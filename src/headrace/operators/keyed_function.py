"""Map, flat map and filter functions that keep state under the current key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common.changelog_mode import ChangelogMode, union
from headrace.operators.emission import SURELY_RESULTS, look_at_results
from headrace.operators.keyed import StatefulOperator
from headrace.runtime.loops import Push
from headrace.runtime.operator import Operator, OperatorSpec, Outputs, Traits
from headrace.runtime.state.backend import Timer
from headrace.runtime.user_function import UserFunction

Apply = Callable[[Any, Any, int | None, Push], None]
"""Takes the function, a value, its timestamp (ms) and where to emit."""


@dataclass(frozen=True)
class _KeyedFunctionSpec(OperatorSpec):
    function: UserFunction
    traits = Traits(keyed=True, state=True)

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        return (self.function,)


@dataclass(frozen=True)
class KeyedMapSpec(_KeyedFunctionSpec):
    """``function(value)`` gives the new value and may use keyed state."""

    kind = "keyed-map"

    @property
    def label(self) -> str:
        return "Map"

    def build(self) -> Operator:
        return KeyedFunctionOperator(self.function, _map)


@dataclass(frozen=True)
class KeyedFlatMapSpec(_KeyedFunctionSpec):
    """``function(value)`` gives an iterable (or None) and may use keyed state."""

    kind = "keyed-flat-map"

    @property
    def label(self) -> str:
        return "FlatMap"

    def build(self) -> Operator:
        return KeyedFunctionOperator(self.function, _flat_map)


@dataclass(frozen=True)
class KeyedFilterSpec(_KeyedFunctionSpec):
    """``function(value)`` is true for the records to keep and may use keyed state."""

    kind = "keyed-filter"

    @property
    def label(self) -> str:
        return "Filter"

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """What comes."""
        return union(inputs)

    def build(self) -> Operator:
        return KeyedFunctionOperator(self.function, _filter)


def _map(function: Any, value: Any, timestamp: int | None, down: Push) -> None:
    down(function(value), timestamp)


def _flat_map(function: Any, value: Any, timestamp: int | None, down: Push) -> None:
    results = function(value)
    if type(results) not in SURELY_RESULTS:
        look_at_results(results)
    if results is not None:
        for result in results:
            down(result, timestamp)


def _filter(function: Any, value: Any, timestamp: int | None, down: Push) -> None:
    if function(value):
        down(value, timestamp)


class KeyedFunctionOperator(StatefulOperator):
    """Applies the function to each record, under its key."""

    def __init__(self, function: UserFunction, apply: Apply) -> None:
        self._function = function
        self._apply = apply

    def bind(self, outputs: Outputs) -> Push:
        """Keyed operators take blocks; see ``process``."""
        self._down = outputs.main
        return self.push_keyed

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        cell, down, apply = self.cell, self._down, self._apply
        function, enter, node = self._function.bound(), cell.look_up, self.node  # noqa: F841
        for key, value, timestamp in zip(
            keys, values, timestamps or [None] * len(values), strict=True
        ):
            cell.key = key
            cell.entry = enter(key)
            cell.event_ms = timestamp
            apply(function, value, timestamp, down)

    def fire_user_timer(self, timer: Timer, event_time: bool) -> None:
        """These functions cannot set timers."""
