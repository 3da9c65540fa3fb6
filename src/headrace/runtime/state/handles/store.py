"""The states of one operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from headrace.common._types.data import TypeData, type_data
from headrace.errors import PlanError
from headrace.runtime.keys.key_groups import stable_hash
from headrace.runtime.state.backend import MISSING, KeyedTable, StateBackend
from headrace.runtime.state.handles.aggregating import AggregatingHandle
from headrace.runtime.state.handles.context import KeyContext
from headrace.runtime.state.handles.handle import Handle
from headrace.runtime.state.handles.list import ListHandle
from headrace.runtime.state.handles.map import MapHandle
from headrace.runtime.state.handles.reducing import ReducingHandle
from headrace.runtime.state.handles.value import ValueHandle
from headrace.runtime.state.kinds import (
    AGGREGATING,
    LIST,
    MAP,
    NO_EVOLUTION,
    REDUCING,
    RESERVED_NAMES,
    VALUE,
    Evolution,
    StateKind,
)
from headrace.runtime.state.ttl import Ttl

H = TypeVar("H", bound=Handle)

_ANYTHING = "PICKLED_BYTE_ARRAY"


class StateStore:
    """Creates the state handles of one operator; the same state has the same handle.

    A state that is declared with another type gets another handle, which coerces written values to
    that type.
    """

    def __init__(self, context: KeyContext, operator: str | None = None) -> None:
        self._context = context
        self._operator = operator
        self._handles: dict[str, Handle] = {}
        self._operator_slots: dict[str, tuple[StateKind, Evolution]] = {}
        self._only_slot: str | None = None
        self._namespaced: NamespacedStates | None = None
        self.asked_for = False
        """A user's function has asked for a state."""

    def attach(self, backend: StateBackend) -> None:
        """Use another backend; there is no current key until one is set."""
        backend.owner = self._operator
        self._context.backend = backend
        self._attach_entries(backend)
        if self._namespaced is not None:
            self._namespaced.attach(backend)

    def _attach_entries(self, entries: KeyedTable) -> None:
        context = self._context
        context.entries = entries
        context.entry = context.values = None
        for name, (kind, evolution) in self._operator_slots.items():
            entries.declare(name, kind, evolution)
        for name, handle in self._handles.items():
            entries.declare(name, handle.stored_kind, handle.evolution)
        if self._only_slot is not None:
            context.values = entries.single_slot_view(self._only_slot)
        elif (
            len(self._handles) == 1
            and not self._operator_slots
            and handle.stored_kind.layout == VALUE
        ):
            context.values = entries.single_slot_view(name)
        if context.values is None:
            entries.end_single_slot_view()
            context.look_up = entries.enter
        else:
            context.look_up = context.values.__getitem__

    def declare(
        self,
        slot: str,
        layout: str = VALUE,
        type: TypeData | None = None,
        expires: bool = False,
        evolution: Evolution = NO_EVOLUTION,
    ) -> None:
        """Declare a slot that the operator uses directly, without a handle.

        ``layout``: ``VALUE``, ``LIST``, ``MAP`` or ``TIMES`` (see ``KeyedTable.declare``).
        ``type``: the declared type as data; None: any type. ``expires``: each value is a pair with
        the time (ms) of its last change. ``evolution``: how values of an earlier program are
        converted.
        """
        self._operator_slots[slot] = StateKind(layout, type, expires), evolution

    def declare_only(self, slot: str, expires: bool, evolution: Evolution = NO_EVOLUTION) -> None:
        """Declare the only slot of an operator, which uses ``KeyContext.values`` directly.

        ``expires``: each value is a pair with the time (ms) of its last change. ``evolution``: how
        values of an earlier program are converted.
        """
        self._operator_slots[slot] = StateKind(VALUE, type_data(_ANYTHING), expires), evolution
        self._only_slot = slot

    def in_namespaces(self) -> NamespacedStates:
        """Return the states that the operator has for each pair of key and namespace."""
        states = self._namespaced
        if states is None:
            states = self._namespaced = NamespacedStates(self._context, self._operator)
            if hasattr(self._context, "backend"):
                states.attach(self._context.backend)
        return states

    def of(self, state_descriptor: Any) -> Any:
        """Return the handle for a descriptor of any kind."""
        getter = _GETTERS.get(getattr(state_descriptor, "kind", ""))
        if getter is None:
            raise PlanError(f"expected a StateDescriptor, not {state_descriptor!r}")
        return getter(self, state_descriptor)

    def get_state(self, state_descriptor: Any) -> ValueHandle:
        """Return a value per key."""
        return self._handle(state_descriptor, ValueHandle)

    def get_list_state(self, state_descriptor: Any) -> ListHandle:
        """Return a list per key."""
        return self._handle(state_descriptor, ListHandle)

    def get_map_state(self, state_descriptor: Any) -> MapHandle:
        """Return a map per key."""
        return self._handle(state_descriptor, MapHandle)

    def get_reducing_state(self, state_descriptor: Any) -> ReducingHandle:
        """Return a reduced value per key."""
        function = state_descriptor.get_reduce_function()
        return self._handle(state_descriptor, ReducingHandle, function.reduce)

    def get_aggregating_state(self, state_descriptor: Any) -> AggregatingHandle:
        """Return an accumulator per key."""
        return self._handle(
            state_descriptor, AggregatingHandle, state_descriptor.get_agg_function()
        )

    def _handle(self, descriptor: Any, kind: type[H], *more: Any) -> H:
        name, type_info = descriptor.get_name(), descriptor.type_info
        handle: Any = self._handles.get(name)
        if handle is None:
            ttl = self._ttl_of(descriptor)
            handle = self._handles[name] = kind(self._context, name, ttl, type_info, *more)
            # An operator may know the type of what it keeps, which fits already.
            stored = getattr(descriptor, "stored_kind", handle.stored_kind)
            handle.evolution = getattr(descriptor, "_evolution", NO_EVOLUTION)
            handle.stored_kind = stored._replace(version=handle.evolution.version)
            self.asked_for |= not name.startswith(RESERVED_NAMES)
            if hasattr(self._context, "entries"):
                self._declare_late(name, handle)
        elif type(handle) is not kind:
            raise TypeError(
                f"state {name!r} is declared twice, as {type(handle).__name__[:-6]}State"
                f" and as {kind.__name__[:-6]}State"
            )
        elif type_info is not handle.type_info and type_info != handle.type_info:
            # The same slot, for which this descriptor makes values fit its own type.
            handle = kind(self._context, name, handle._ttl, type_info, *more)
        found: H = handle
        return found

    def _ttl_of(self, descriptor: Any) -> Ttl | None:
        return Ttl.of(getattr(descriptor, "_ttl_config", None))

    def _declare_late(self, name: str, handle: Handle) -> None:
        self._context.entries.declare(name, handle.stored_kind, handle.evolution)
        self._end_view()

    def _end_view(self) -> None:
        """End the single-slot view: keys have entries with several slots."""
        context, entries = self._context, self._context.entries
        if context.values is not None:
            context.values = None
            entries.end_single_slot_view()
            context.look_up = entries.enter
            if context.entry is not None:
                context.enter(context.key)

    def keys_of(self, name: str) -> Iterator[Any]:
        """Yield the keys that have a value in a state; each is the current key while it is used.

        They are in the order of their hashes, which is deterministic.
        """
        context, handle = self._context, self._handles[name]
        for key in sorted(context.entries.keys(), key=stable_hash):
            context.enter(key)
            if handle._read_stored() is not None:
                yield key

    def purge(self, event_time: bool) -> None:
        """Remove the expired state of the current key; ``event_time``: which clock to use.

        No new cleanup timer is needed, as every write has registered one.
        """
        for handle in self._handles.values():
            ttl = handle._ttl
            if ttl is not None and ttl.event_time is event_time:
                handle.purge()


_GETTERS: dict[str, Callable[[StateStore, Any], Any]] = {
    VALUE: StateStore.get_state,
    LIST: StateStore.get_list_state,
    MAP: StateStore.get_map_state,
    REDUCING: StateStore.get_reducing_state,
    AGGREGATING: StateStore.get_aggregating_state,
}


class NamespacedStates(StateStore):
    """The states of one operator for each pair of key and namespace, such as a window.

    Its handles use the current key and the namespace set by ``enter``. They are as fast as states
    of a key.
    """

    def __init__(self, task: KeyContext, operator: str | None) -> None:
        super().__init__(KeyContext(), operator)
        self._task = task

    @property
    def namespace(self) -> Any:
        """The namespace entered last."""
        return self._context.key[1]

    def attach(self, backend: StateBackend) -> None:
        """Use another backend; there is no current key until one is set."""
        self._context.backend = backend
        self._attach_entries(backend.in_namespaces)

    def enter(self, namespace: Any) -> None:
        """Set the namespace under the task's current key; it must be hashable and picklable."""
        context = self._context
        context.key = pair = (self._task.key, namespace)
        context.entry = context.look_up(pair)

    def clear(self) -> None:
        """Clear all states of the current pair of key and namespace, including unused ones."""
        context = self._context
        if context.values is not None and len(context.entries.kinds()) > 1:
            self._end_view()
        if context.values is None:
            if context.entry:
                context.entry.clear()
                context.entries.changed(context.key)
        elif context.entry is not MISSING:
            context.values.drop(context.key)
            context.entry = MISSING
            context.entries.changed(context.key)

    def _ttl_of(self, descriptor: Any) -> Ttl | None:
        if super()._ttl_of(descriptor) is not None:
            raise PlanError(
                f"state {descriptor.get_name()!r} lies in a namespace, and has a time-to-live",
                hint="leave the time-to-live out, and clear the state when its namespace ends",
            )
        return None
