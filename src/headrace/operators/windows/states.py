"""State of a key and window, as triggers and window functions ask for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.errors import PlanError
from headrace.runtime.state.handles import Handle, NamespacedStates
from headrace.runtime.state.kinds import AGGREGATING, LIST, REDUCING


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


def merge_states(
    states: NamespacedStates, descriptor: Any, target: Any, sources: Iterable[Any]
) -> None:
    """Merge the state that several namespaces have into that of ``target``.

    Raises:
        PlanError: states of this kind cannot be merged.
    """
    handle = states.of(descriptor)
    kind = descriptor.kind
    if kind == LIST:
        merged = _appended
    elif kind == REDUCING:
        merged = handle._reduce
    elif kind == AGGREGATING:
        merged = handle._function.merge
    else:
        raise PlanError(
            f"the state {descriptor.get_name()!r} cannot be merged: it is a {kind} state",
            hint="windows that merge need list, reducing or aggregating state",
        )
    merge_namespaces(states, handle, merged, target, sources)


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
