"""State per key and window, for triggers and window functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.errors import PlanError
from headrace.runtime.state.handles import Handle, NamespacedStates
from headrace.runtime.state.kinds import AGGREGATING, LIST, REDUCING


class NoWindowStates:
    """Stands for the window state of merging windows: each access raises a ``PlanError``."""

    def enter(self, namespace: Any) -> None:
        """Do nothing."""

    def _refuse(self, state_descriptor: Any) -> Any:
        """Raise PlanError: windows that merge have no state per window."""
        raise PlanError(
            "windows that merge, such as sessions, have no state per window",
            where={"state": state_descriptor.get_name()},
            hint="use global_state(), with the window as key of a map",
        )

    get_state = get_list_state = get_map_state = _refuse
    get_reducing_state = get_aggregating_state = _refuse


def _concat(first: Any, second: Any) -> Any:
    return [*first, *second]


def merge_states(
    states: NamespacedStates, descriptor: Any, target: Any, sources: Iterable[Any]
) -> None:
    """Merge the state of several namespaces into that of ``target``.

    Raises:
        PlanError: states of this kind cannot be merged.
    """
    handle = states.of(descriptor)
    kind = descriptor.kind
    if kind == LIST:
        merge = _concat
    elif kind == REDUCING:
        merge = handle._reduce
    elif kind == AGGREGATING:
        merge = handle._function.merge
    else:
        raise PlanError(
            f"the state {descriptor.get_name()!r} cannot be merged: it is a {kind} state",
            hint="windows that merge need list, reducing or aggregating state",
        )
    merge_namespaces(states, handle, merge, target, sources)


def merge_namespaces(
    states: NamespacedStates, handle: Handle, merge: Any, target: Any, sources: Iterable[Any]
) -> None:
    """Move a state's values in several namespaces to ``target``, the current one afterwards.

    As in Flink, the sources are merged with each other first, then into the target.
    """
    moved = None
    for source in sources:
        states.enter(source)
        value = handle._read_stored()
        if value is not None:
            handle.clear()
            moved = value if moved is None else merge(moved, value)
    states.enter(target)
    if moved is not None:
        value = handle._read_stored()
        handle._write(moved if value is None else merge(value, moved))
