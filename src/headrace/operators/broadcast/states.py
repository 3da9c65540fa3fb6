"""Broadcast state as user functions access it, through descriptors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from headrace.common.typeinfo import TypeInformation
from headrace.errors import PlanError
from headrace.runtime.context import TaskContext
from headrace.runtime.operator import NodeProgram
from headrace.runtime.state.broadcast_state import BroadcastStateMap, BroadcastStateStore
from headrace.runtime.state.handles.coercion import fits_of_map
from headrace.runtime.state.kinds import NO_EVOLUTION, VALUE, Evolution, StateKind, type_data_of


@dataclass(frozen=True)
class DeclaredMap:
    """A broadcast state that a program declares.

    ``type_info``: the type of the map, if declared. ``evolution``: how stored values become those
    of the program.
    """

    name: str
    type_info: TypeInformation | None = None
    evolution: Evolution = NO_EVOLUTION

    def get_name(self) -> str:
        """Return the state's name."""
        return self.name


class BroadcastMap:
    """A broadcast state with the methods of map state.

    Keys and values are coerced to ``declared``.
    """

    def __init__(self, state_map: BroadcastStateMap, declared: TypeInformation | None) -> None:
        self._state_map = state_map
        self.get: Callable[..., Any] = state_map.get
        self.contains = state_map.__contains__
        self.items = state_map.items
        self.keys = state_map.keys
        self.put = state_map.put
        self.remove = state_map.remove
        self.clear = state_map.clear
        self._fits = fits = fits_of_map(declared, state_map.name)
        if fits is not None:
            of_key, of_value = fits
            self.get = lambda key: state_map.get(of_key(key))
            self.contains = lambda key: of_key(key) in state_map
            self.put = lambda key, value: state_map.put(of_key(key), of_value(value))
            self.remove = lambda key: state_map.remove(of_key(key))

    def values(self) -> Iterator[Any]:
        """Return the values of the map."""
        return (value for _, value in self._state_map.items())

    def is_empty(self) -> bool:
        """Return whether the map has no entries."""
        return not len(self._state_map)

    def put_all(self, dict_value: Any) -> None:
        """Set entries from a mapping or pairs; set none if an entry does not fit the type."""
        pairs = dict_value.items() if hasattr(dict_value, "items") else dict_value
        if self._fits is not None:
            of_key, of_value = self._fits
            pairs = [(of_key(key), of_value(value)) for key, value in pairs]
        for key, value in pairs:
            self._state_map.put(key, value)

    def __getitem__(self, key: Any) -> Any:
        return self.get(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.put(key, value)

    def __delitem__(self, key: Any) -> None:
        self.remove(key)

    def __contains__(self, key: Any) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())


class ReadOnlyBroadcastMap:
    """A broadcast state as the side without broadcast may use it: changes raise a ``PlanError``."""

    def __init__(self, state_map: BroadcastStateMap, state: Any, operator: str) -> None:
        self._name, self._operator = state_map.name, operator
        # A key that is not found is looked up again after coercion to its type.
        self.get = state_map.make_lookup(state.get)
        self.contains = state.contains
        self.items = state.items
        self.keys = state.keys
        self.values = state.values
        self.is_empty = state.is_empty

    def __getitem__(self, key: Any) -> Any:
        return self.get(key)

    def __contains__(self, key: Any) -> bool:
        present: bool = self.contains(key)
        return present

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())

    def _reject_change(self, *given: Any) -> NoReturn:
        raise PlanError(
            f"the broadcast state {self._name!r} is changed on the side that may only read it",
            where={"operator": self._operator},
            hint="change it in process_broadcast_element, so that all tasks make the same change",
        )

    put = put_all = remove = clear = __setitem__ = __delitem__ = _reject_change


class BroadcastStates:
    """The broadcast states of one operator in one task, by descriptor.

    ``writable`` returns those of the broadcast side, ``readable`` those of the other side.

    Raises:
        PlanError: on access, if a state was not declared, or with another type.
    """

    def __init__(
        self, broadcast_states: BroadcastStateStore, declared: Sequence[DeclaredMap], operator: str
    ) -> None:
        types = {each.name: each.type_info for each in declared}
        writable: dict[str, Any] = {}
        readable: dict[str, Any] = {}
        for each in declared:
            kind = StateKind(VALUE, type_data_of(each.type_info), version=each.evolution.version)
            state_map = broadcast_states.map(each.name, kind, each.evolution)
            state = writable[each.name] = BroadcastMap(state_map, each.type_info)
            readable[each.name] = ReadOnlyBroadcastMap(state_map, state, operator)
        self.writable = _ByDescriptor(writable, types, operator).__getitem__
        self.readable = _ByDescriptor(readable, types, operator).__getitem__


_MAX_CACHED_DESCRIPTORS = 64
"""Limits the cache, as some programs make a new descriptor for each record."""


class _ByDescriptor(dict[Any, Any]):
    """States by descriptor, with a cache of the descriptors that were checked."""

    def __init__(
        self,
        states: Mapping[str, Any],
        types: Mapping[str, TypeInformation | None],
        operator: str,
    ) -> None:
        super().__init__()
        self._states, self._types, self._operator = states, types, operator

    def __missing__(self, descriptor: Any) -> Any:
        name, given = descriptor.name, descriptor.type_info
        if name not in self._types:
            raise undeclared_state_error(name, [*self._types], self._operator)
        declared = self._types[name]
        if declared is not None and given is not None and declared != given:
            raise PlanError(
                f"the broadcast state {name!r} is asked for as {given}, but declared as {declared}",
                where={"operator": self._operator},
                hint="use one descriptor, for broadcast() and in the function",
            )
        if len(self) < _MAX_CACHED_DESCRIPTORS:
            self[descriptor] = self._states[name]
        return self._states[name]


def undeclared_state_error(name: str, declared: Sequence[str], operator: str) -> PlanError:
    """Return the error for a state that was not given to ``broadcast()``."""
    return PlanError(
        f"the broadcast state {name!r} is not declared",
        where={"operator": operator, "declared": ", ".join(map(repr, declared)) or "none"},
        hint="give its MapStateDescriptor to .broadcast(...) as well",
    )


def make_broadcast_states(
    context: TaskContext, declared: tuple[DeclaredMap, ...], node: NodeProgram
) -> BroadcastStates:
    """Make the broadcast states of an operator."""
    assert context.broadcast_states is not None, "the operator has a broadcast input"
    return BroadcastStates(context.broadcast_states, declared, f"{node.name}, built at {node.site}")
