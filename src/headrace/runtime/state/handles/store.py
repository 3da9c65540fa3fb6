"""The states of one operator."""

from __future__ import annotations

from typing import Any, TypeVar

from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.handles.aggregating import AggregatingHandle
from headrace.runtime.state.handles.context import KeyContext
from headrace.runtime.state.handles.handle import Handle
from headrace.runtime.state.handles.list import ListHandle
from headrace.runtime.state.handles.map import MapHandle
from headrace.runtime.state.handles.reducing import ReducingHandle
from headrace.runtime.state.handles.value import ValueHandle
from headrace.runtime.state.ttl import Ttl

H = TypeVar("H", bound=Handle)


class StateStore:
    """Makes the handles of one operator; a state asked for twice is the same handle."""

    def __init__(self, context: KeyContext) -> None:
        self._context = context
        self._handles: dict[str, Handle] = {}
        self._own: list[str] = []

    def attach(self, backend: StateBackend) -> None:
        """Work on another backend from now on, outside of any key."""
        context = self._context
        context.backend = backend
        context.entry = context.values = None
        for name in self._own:
            backend.declare(name, "value")
        for name, handle in self._handles.items():
            backend.declare(name, handle.stored_kind)
        if len(self._handles) == 1 and not self._own and handle.kind == "value":
            context.values = backend.single_slot_view(name)
        if context.values is None:
            backend.end_single_slot_view()
            context.look_up = backend.enter
        else:
            context.look_up = context.values.__getitem__

    def declare(self, slot: str) -> None:
        """A value that the operator itself keeps, without a handle."""
        self._own.append(slot)

    def get_state(self, state_descriptor: Any) -> ValueHandle:
        """A value per key."""
        return self._handle(state_descriptor, ValueHandle)

    def get_list_state(self, state_descriptor: Any) -> ListHandle:
        """A list per key."""
        return self._handle(state_descriptor, ListHandle)

    def get_map_state(self, state_descriptor: Any) -> MapHandle:
        """A map per key."""
        return self._handle(state_descriptor, MapHandle)

    def get_reducing_state(self, state_descriptor: Any) -> ReducingHandle:
        """A reduced value per key."""
        function = state_descriptor.get_reduce_function()
        return self._handle(state_descriptor, ReducingHandle, function.reduce)

    def get_aggregating_state(self, state_descriptor: Any) -> AggregatingHandle:
        """An accumulator per key."""
        return self._handle(
            state_descriptor, AggregatingHandle, state_descriptor.get_agg_function()
        )

    def _handle(self, descriptor: Any, kind: type[H], *more: Any) -> H:
        name = descriptor.get_name()
        handle: Any = self._handles.get(name)
        if handle is None:
            ttl = Ttl.of(getattr(descriptor, "_ttl_config", None))
            handle = self._handles[name] = kind(self._context, name, ttl, *more)
            if hasattr(self._context, "backend"):
                self._declare_late(name, handle.stored_kind)
        elif type(handle) is not kind:
            raise TypeError(
                f"state {name!r} is declared twice, as {type(handle).__name__[:-6]}State"
                f" and as {kind.__name__[:-6]}State"
            )
        found: H = handle
        return found

    def _declare_late(self, name: str, kind: str) -> None:
        context, backend = self._context, self._context.backend
        backend.declare(name, kind)
        if context.values is not None:
            context.values = None
            backend.end_single_slot_view()
            context.look_up = backend.enter
            if context.entry is not None:
                context.enter(context.key)

    def purge(self, event_time: bool) -> None:
        """Remove what has expired under the current key by one clock.

        Every write has scheduled a look at what it wrote, so none is scheduled here.
        """
        for handle in self._handles.values():
            ttl = handle._ttl
            if ttl is not None and ttl.event_time is event_time:
                handle.purge()
