"""State of a key and window, as triggers and window functions ask for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.errors import PlanError
from headrace.runtime.state.handles import Handle, NamespacedStates
from headrace.runtime.state.kinds import AGGREGATING, LIST, MAP, REDUCING, VALUE
from headrace.runtime.state.typed import (
    typed_aggregating,
    typed_list,
    typed_map,
    typed_reducing,
    typed_value,
)


class WindowStates:
    """Gives out states of the current key and a window.

    A state that is given out works on the namespace that was entered last.
    """

    def __init__(self, states: NamespacedStates) -> None:
        self._states = states
        self._made: dict[tuple[str, str], Any] = {}
        self._makers = {
            VALUE: self.get_state,
            LIST: self.get_list_state,
            MAP: self.get_map_state,
            REDUCING: self.get_reducing_state,
            AGGREGATING: self.get_aggregating_state,
        }

    @property
    def asked_for(self) -> bool:
        """True when any state was given out in this process: windows may hold some."""
        return bool(self._made)

    def enter(self, namespace: Any) -> None:
        """Go to a namespace of the current key."""
        self._states.enter(namespace)

    def of(self, descriptor: Any) -> Any:
        """The state of a descriptor of any kind."""
        maker = self._makers.get(getattr(descriptor, "kind", ""))
        if maker is None:
            raise PlanError(f"expected a StateDescriptor, not {descriptor!r}")
        return maker(descriptor)

    def get_state(self, state_descriptor: Any) -> Any:
        """A value."""
        place = (VALUE, state_descriptor.get_name())
        made = self._made.get(place)
        if made is None:
            made = typed_value(self._states.get_state(state_descriptor), state_descriptor)
            self._made[place] = made
        return made

    def get_list_state(self, state_descriptor: Any) -> Any:
        """A list."""
        place = (LIST, state_descriptor.get_name())
        made = self._made.get(place)
        if made is None:
            made = typed_list(self._states.get_list_state(state_descriptor), state_descriptor)
            self._made[place] = made
        return made

    def get_map_state(self, state_descriptor: Any) -> Any:
        """A map."""
        place = (MAP, state_descriptor.get_name())
        made = self._made.get(place)
        if made is None:
            made = typed_map(self._states.get_map_state(state_descriptor), state_descriptor)
            self._made[place] = made
        return made

    def get_reducing_state(self, state_descriptor: Any) -> Any:
        """A value into which values are reduced."""
        place = (REDUCING, state_descriptor.get_name())
        made = self._made.get(place)
        if made is None:
            made = typed_reducing(self._states.get_reducing_state, state_descriptor)
            self._made[place] = made
        return made

    def get_aggregating_state(self, state_descriptor: Any) -> Any:
        """An accumulator into which values are aggregated."""
        place = (AGGREGATING, state_descriptor.get_name())
        made = self._made.get(place)
        if made is None:
            made = typed_aggregating(self._states.get_aggregating_state, state_descriptor)
            self._made[place] = made
        return made

    def merge(self, descriptor: Any, target: Any, sources: Iterable[Any]) -> None:
        """Merge the state that several namespaces have into that of ``target``.

        Raises:
            PlanError: states of this kind cannot be merged.
        """
        self.of(descriptor)  # with its type, where none asked for it before
        kind = descriptor.kind
        if kind == LIST:
            handle: Any = self._states.get_list_state(descriptor)
            merged = _appended
        elif kind == REDUCING:
            handle = self._states.get_reducing_state(descriptor)
            merged = handle._reduce
        elif kind == AGGREGATING:
            handle = self._states.get_aggregating_state(descriptor)
            merged = handle._function.merge
        else:
            raise PlanError(
                f"the state {descriptor.get_name()!r} cannot be merged: it is a {kind} state",
                hint="windows that merge need list, reducing or aggregating state",
            )
        merge_namespaces(self._states, handle, merged, target, sources)


class RefusedWindowStates:
    """Stands for the state of windows that merge: there is none."""

    def enter(self, namespace: Any) -> None:
        """Do nothing."""

    def _refuse(self, state_descriptor: Any) -> Any:
        raise PlanError(
            "windows that merge, such as sessions, have no state per window",
            where={"state": state_descriptor.get_name()},
            hint="use global_state(), with the window as key of a map",
        )

    get_state = get_list_state = get_map_state = _refuse
    get_reducing_state = get_aggregating_state = _refuse


def _appended(first: Any, second: Any) -> Any:
    return [*first, *second]


def merge_namespaces(
    states: NamespacedStates, handle: Handle, merged: Any, target: Any, sources: Iterable[Any]
) -> None:
    """Move what a state holds in several namespaces to ``target``, in which it ends.

    As in Flink the sources are merged with each other first, then into the target.
    """
    moved = None
    for source in sources:
        states.enter(source)
        held = handle._held()
        if held is not None:
            handle.clear()
            moved = held if moved is None else merged(moved, held)
    states.enter(target)
    if moved is not None:
        held = handle._held()
        handle._write(moved if held is None else merged(held, moved))
