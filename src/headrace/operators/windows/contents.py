"""What a window stores of its records, and what it passes to the window function."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from headrace.common._types.data import type_data
from headrace.common.typeinfo import TypeInformation
from headrace.runtime.record_copies import copy_record
from headrace.runtime.state.handles import NamespacedStates
from headrace.runtime.state.handles.aggregating import accumulator_data, fitted_aggregate
from headrace.runtime.state.kinds import (
    AGGREGATING,
    LIST,
    REDUCING,
    RESERVED_NAMES,
    StateKind,
    type_data_of,
)
from headrace.runtime.user_function import UserFunction

SLOT = RESERVED_NAMES + "window-contents"

CallWindowFunction = Callable[[Any, Any, Any, Any], "Iterable[Any] | None"]
"""Takes key, window, context and inputs (an iterable), and returns the results."""


@dataclass(frozen=True)
class WindowCall:
    """A window function and its parameters.

    ``with_key``: it takes the key. ``with_context``: it takes a context in place of the window.
    """

    function: UserFunction
    with_key: bool
    with_context: bool

    def as_callable(self) -> CallWindowFunction:
        """Return the function, wrapped to take all possible arguments."""
        function = self.function.as_callable()
        if self.with_context:
            if self.with_key:
                return lambda key, window, context, inputs: function(key, context, inputs)
            return lambda key, window, context, inputs: function(context, inputs)
        if self.with_key:
            return lambda key, window, context, inputs: function(key, window, inputs)
        return lambda key, window, context, inputs: function(window, inputs)


@dataclass(frozen=True)
class Contents(ABC):
    """The contents of a window. ``window_function`` None: the stored value is the result.

    ``record_type``: the declared type of the records.
    """

    window_function: WindowCall | None
    record_type: TypeInformation | None = field(default=None, kw_only=True)
    state_kind: ClassVar[str]
    """The kind of state that stores the contents."""

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        """The user's functions."""
        return () if self.window_function is None else (self.window_function.function,)

    def copied(self) -> Contents:
        """Return a copy with its own functions, for one task."""
        call = self.window_function
        if call is None:
            return self
        return replace(self, window_function=replace(call, function=call.function.copied()))

    @property
    def stored_kind(self) -> StateKind:
        """The kind of state, with the type of its values."""
        return StateKind(self.state_kind)

    @abstractmethod
    def state(self, states: NamespacedStates) -> Any:
        """Return the state that stores a window's contents, with ``add``, ``get`` and ``clear``."""

    @abstractmethod
    def inputs_from_records(self, values: list[Any]) -> list[Any]:
        """Return the inputs of the window function for the records that the evictor keeps.

        Called only for windows with an evictor: they store records instead of accumulators.
        """

    @abstractmethod
    def inputs(self, state: Any, keeps_state: bool) -> list[Any]:
        """Return the inputs of the window function, from ``state``; empty if the state is.

        ``keeps_state``: the state is still needed, so inputs are copies: the function may change
        them.
        """

    @abstractmethod
    def merge(self, first: Any, second: Any) -> Any:
        """Merge the stored values of two windows."""


@dataclass(frozen=True)
class Elements(Contents):
    """All records, in the order of their arrival."""

    state_kind = LIST

    @property
    def stored_kind(self) -> StateKind:
        declared = type_data_of(self.record_type)
        return StateKind(LIST, declared and type_data("LIST", declared))

    def state(self, states: NamespacedStates) -> Any:
        return states.get_list_state(_Descriptor(self.stored_kind))

    def inputs_from_records(self, values: list[Any]) -> list[Any]:
        return values

    def inputs(self, state: Any, keeps_state: bool) -> list[Any]:
        return [*map(copy_record, state.get())] if keeps_state else state.get()

    def merge(self, first: Any, second: Any) -> Any:
        return [*first, *second]


@dataclass(frozen=True)
class _FoldedContents(Contents):
    function: UserFunction

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        return (self.function, *super().functions)

    def copied(self) -> Contents:
        return replace(super().copied(), function=self.function.copied())  # type: ignore[call-arg]

    def inputs(self, state: Any, keeps_state: bool) -> list[Any]:
        accumulator = state._read_stored()
        if accumulator is None:
            return []
        result = self.result(state, copy_record(accumulator) if keeps_state else accumulator)
        return [] if result is None else [result]

    def result(self, state: Any, accumulator: Any) -> Any:
        """Return the result for a stored value."""
        return accumulator


@dataclass(frozen=True)
class Reduced(_FoldedContents):
    """The value of a reduce ``function(value1, value2)``."""

    reduced_type: TypeInformation | None = None
    state_kind = REDUCING

    @property
    def stored_kind(self) -> StateKind:
        return StateKind(REDUCING, type_data_of(self.reduced_type))

    def state(self, states: NamespacedStates) -> Any:
        descriptor = _Descriptor(self.stored_kind, reduce=self.function.as_callable())
        return states.get_reducing_state(descriptor)

    def inputs_from_records(self, values: list[Any]) -> list[Any]:
        reduce, accumulator = self.function.as_callable(), None
        for value in values:
            accumulator = value if accumulator is None else reduce(accumulator, value)
        return [] if accumulator is None else [accumulator]

    def merge(self, first: Any, second: Any) -> Any:
        return self.function.as_callable()(first, second)


@dataclass(frozen=True)
class Aggregated(_FoldedContents):
    """The accumulator of an ``AggregateFunction``, which is ``function.target``."""

    accumulator_type: TypeInformation | None = None
    state_kind = AGGREGATING

    @property
    def stored_kind(self) -> StateKind:
        return StateKind(AGGREGATING, accumulator_data(self.function.target, self.accumulator_type))

    def state(self, states: NamespacedStates) -> Any:
        descriptor = _Descriptor(
            self.stored_kind, self.accumulator_type, aggregate=self.function.target
        )
        return states.get_aggregating_state(descriptor)

    def result(self, state: Any, accumulator: Any) -> Any:
        return state._function.get_result(accumulator)

    def fitted(self) -> Any:
        """Return the function, with its accumulators coerced to their declared type."""
        return fitted_aggregate(self.function.target, self.accumulator_type, SLOT)

    def inputs_from_records(self, values: list[Any]) -> list[Any]:
        function = self.function.target
        accumulator = function.create_accumulator()
        for value in values:
            accumulator = function.add(value, accumulator)
        return [function.get_result(accumulator)]

    def merge(self, first: Any, second: Any) -> Any:
        return self.function.target.merge(first, second)


class _Descriptor:
    """A state descriptor for a window's contents."""

    def __init__(
        self,
        stored_kind: StateKind,
        type_info: TypeInformation | None = None,
        *,
        reduce: Callable[[Any, Any], Any] | None = None,
        aggregate: Any = None,
    ) -> None:
        self.stored_kind = stored_kind
        self.type_info = type_info
        self.reduce = reduce
        self._aggregate = aggregate

    def get_name(self) -> str:
        return SLOT

    def get_reduce_function(self) -> Any:
        return self

    def get_agg_function(self) -> Any:
        return self._aggregate
