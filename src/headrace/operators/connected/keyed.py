"""Functions of two keyed streams: equal keys meet, and share their state and timers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from headrace.common.output_tag import OutputTag
from headrace.operators.connected.elements import (
    Element,
    flat_map_elements,
    map_elements,
    process_elements,
)
from headrace.operators.emission import SURELY_RESULTS, look_at_results, side_sender
from headrace.operators.inspection import inspect_function
from headrace.operators.keyed_process import KeyedContext, KeyedProcessOperator, KeyedProcessSpec
from headrace.runtime.loops import Push
from headrace.runtime.operator import KeyedOperator, Operator, Outputs, ProcessBlock, Traits
from headrace.runtime.user_function import UserFunction


def keyed_traits(function: UserFunction, shared: bool = False) -> Traits:
    """The traits of a keyed process function with two inputs: what its code uses."""
    uses = inspect_function(function.target)
    return Traits(
        keyed=True,
        state=True,
        event_timers=uses.event_timers,
        processing_timers=uses.processing_timers,
        event_time=uses.event_timers,
        side_outputs=True,
        inputs=2,
        shared=shared,
    )


@dataclass(frozen=True)
class KeyedCoProcessSpec(KeyedProcessSpec):
    """``function.target`` has ``process_element1``, ``process_element2``, perhaps ``on_timer``."""

    kind = "keyed-co-process"

    @cached_property
    def traits(self) -> Traits:  # type: ignore[override]
        """What the function's code uses. It is read once, since that takes milliseconds."""
        return keyed_traits(self.function)

    @property
    def label(self) -> str:
        return "Keyed Co-Process"

    def elements(self) -> tuple[Element, Element]:
        """What is called for the records of each input."""
        return process_elements(self.function.target)

    def build(self) -> Operator:
        return KeyedCoProcessOperator(self)


@dataclass(frozen=True)
class KeyedCoMapSpec(KeyedCoProcessSpec):
    """``function.target`` has ``map1(value)`` and ``map2``, and may use keyed state."""

    kind = "keyed-co-map"
    traits = Traits(keyed=True, state=True, side_outputs=True, inputs=2)

    @property
    def label(self) -> str:
        return "Co-Map"

    def elements(self) -> tuple[Element, Element]:
        """What is called for the records of each input."""
        return map_elements(self.function.target)


@dataclass(frozen=True)
class KeyedCoFlatMapSpec(KeyedCoProcessSpec):
    """``function.target`` has ``flat_map1(value)`` and ``flat_map2``, and may use keyed state."""

    kind = "keyed-co-flat-map"
    traits = Traits(keyed=True, state=True, side_outputs=True, inputs=2)

    @property
    def label(self) -> str:
        return "Co-Flat Map"

    def elements(self) -> tuple[Element, Element]:
        """What is called for the records of each input."""
        return flat_map_elements(self.function.target)


class KeyedCoProcessOperator(KeyedProcessOperator):
    """Calls the method of the input for each record, and ``on_timer``, under the key."""

    def __init__(self, spec: KeyedCoProcessSpec) -> None:
        super().__init__(spec)
        self._elements = spec.elements

    def bind(self, outputs: Outputs) -> Push:
        """Keyed operators take blocks; see ``processors``."""
        push = super().bind(outputs)
        first, second = self._elements()
        self._takers = (
            keyed_taker(self, first, self._context, outputs),
            keyed_taker(self, second, self._context, outputs),
        )
        return push

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        """Take records of the first input."""
        self._takers[0](keys, values, timestamps)

    def processors(self) -> tuple[ProcessBlock, ...]:
        """What takes the blocks of each input."""
        return self._takers


def keyed_taker(
    operator: KeyedOperator, element: Element, context: KeyedContext, outputs: Outputs
) -> ProcessBlock:
    """What gives each record of a block to a method, under its key, and emits what comes of it."""
    cell, main, to_side = operator.cell, outputs.main, side_sender(outputs)

    def take(keys: list[Any], values: list[Any], timestamps: list[int | None] | None) -> None:
        enter, node = cell.look_up, operator.node  # noqa: F841
        for key, value, timestamp in zip(
            keys, values, timestamps or [None] * len(values), strict=True
        ):
            cell.key = key
            cell.entry = enter(key)
            cell.event_ms = context._timestamp = timestamp
            results = element(value, context)
            if results is not None:
                if type(results) not in SURELY_RESULTS:
                    look_at_results(results)
                for result in results:
                    # As in ``emitter``, written out: it spares a call per record.
                    if (
                        type(result) is tuple
                        and len(result) == 2
                        and isinstance(result[0], OutputTag)
                    ):
                        to_side(result, timestamp)
                    else:
                        main(result, timestamp)

    return take
