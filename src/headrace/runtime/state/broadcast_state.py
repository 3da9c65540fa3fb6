"""Broadcast state: one copy per task, which only the task's broadcast input changes.

During a call it is in dictionaries. Between calls it is in the pages of a backend, so a small
change rewrites one page. Every change is recorded, so that it can be undone and repeated: each key
group of a task must see the state of its own position in the order of inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from headrace.errors import PlanError
from headrace.runtime.keys.key_groups import stable_hash
from headrace.runtime.record_copies import copy_record
from headrace.runtime.state.backend import MISSING, StateBackend
from headrace.runtime.state.kinds import NO_EVOLUTION, VALUE, Evolution, StateKind

_ANY_VALUE = StateKind(VALUE)


class Change(NamedTuple):
    """A change of a key: its old and new pair (order, value), or ``MISSING``."""

    state: str
    key: Any
    before: Any
    after: Any


class BroadcastStateMap:
    """A broadcast state: one map per task, which only the broadcast input may change.

    Items come in the order in which their keys were first put. A value is copied when it is put,
    and when the writing side reads it: that side must put a value again after changing it.
    """

    __slots__ = ("_entries", "_in_order", "_owner", "evolution", "kind", "name", "revision")

    def __init__(
        self, owner: BroadcastStateStore, name: str, kind: StateKind, evolution: Evolution
    ) -> None:
        self._owner, self.name, self.kind = owner, name, kind
        self.evolution = evolution._replace(ordered=True)
        self._entries: dict[Any, tuple[int, Any]] = {}
        self._in_order = True
        self.revision = 0
        """Another number after each change, so that what is made of the content can be kept."""

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value of a key, or ``default``."""
        found = self._entries.get(key)
        if found is None:
            return default
        return copy_record(found[1]) if self._owner.writable else found[1]

    def make_lookup(self, otherwise: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return a function that looks up a key, and returns ``otherwise(key)`` if it is missing.

        The side without broadcast calls it for each record; it must not change the value.
        """

        def look_up(key: Any) -> Any:
            found = self._entries.get(key)
            return otherwise(key) if found is None else found[1]

        return look_up

    def __contains__(self, key: Any) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def keys(self) -> Iterator[Any]:
        """Return the keys; the map may change meanwhile."""
        if not self._in_order:
            self.sort()
        return iter([*self._entries])

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Yield the keys and values; the map may change meanwhile."""
        if not self._in_order:
            self.sort()
        writable = self._owner.writable
        for key, (_, value) in [*self._entries.items()]:
            yield key, copy_record(value) if writable else value

    def put(self, key: Any, value: Any) -> None:
        """Set the value of a key.

        Raises:
            PlanError: called on the side of the other input, which may only read.
            UnstableKeyError: the key has no hash that is equal in every interpreter.
        """
        stable_hash(key)  # refused here, where the function is known, not when it is stored
        before = self._entries.get(key, MISSING)
        order = self._owner.next_order() if before is MISSING else before[0]
        self._change(Change(self.name, copy_record(key), before, (order, copy_record(value))))

    def remove(self, key: Any) -> None:
        """Remove a key; a missing one is no error.

        Raises:
            PlanError: called on the side of the other input, which may only read.
        """
        before = self._entries.get(key, MISSING)
        self._change(Change(self.name, key, before, MISSING))

    def clear(self) -> None:
        """Remove all keys.

        Raises:
            PlanError: called on the side of the other input, which may only read.
        """
        for key in [*self._entries]:
            self.remove(key)

    def _change(self, change: Change) -> None:
        if not self._owner.writable:
            raise PlanError(
                f"the broadcast state {self.name!r} is changed for a record that was not broadcast",
                hint="only the side of the broadcast input may change it: else tasks would differ",
            )
        self.set_entry(change.key, change.after)
        self._owner.changes.append(change)

    def set_entry(self, key: Any, entry: Any) -> None:
        """Set a pair (order, value), or ``MISSING``, for a key, without recording a change."""
        self.revision += 1
        if entry is MISSING:
            self._entries.pop(key, None)
        elif key not in self._entries:
            self._entries[key] = entry
            self._in_order = False
        else:
            self._entries[key] = entry

    def sort(self) -> None:
        """Sort the keys by their order of insertion."""
        self._entries = dict(sorted(self._entries.items(), key=lambda item: item[1][0]))
        self._in_order = True

    def drop_entries(self) -> None:
        """Remove all keys, without recording changes."""
        self.revision += 1
        self._entries = {}
        self._in_order = True


class BroadcastStateStore:
    """The broadcast states of one operator in one task, by name."""

    def __init__(self, operator: str | None = None) -> None:
        self._operator = operator
        self._maps: dict[str, BroadcastStateMap] = {}
        self._order = 0
        self.writable = False
        """Whether a broadcast record is being processed, so that changes are allowed."""
        self.changes: list[Change] = []
        """The changes since the last ``take_changes``."""
        self.in_first_group = False
        """Whether the current group is the first of the job, not only of the task."""
        self.repeating = False
        """Whether another group of the task has processed the current broadcast records before."""
        self.all_groups = False
        """Whether the current broadcast record has used the keys of all groups."""
        self.asked_all_groups = False
        """Whether one of the current broadcast records has used the keys of all groups."""

    def map(
        self, name: str, kind: StateKind = _ANY_VALUE, evolution: Evolution = NO_EVOLUTION
    ) -> BroadcastStateMap:
        """Return the map of this name, created at the first call; ``kind``: its kind of state."""
        found = self._maps.get(name)
        if found is None:
            found = self._maps[name] = BroadcastStateMap(self, name, kind, evolution)
        return found

    def next_order(self) -> int:
        """Return the order number of a new key."""
        self._order += 1
        return self._order

    def load(self, backend: StateBackend) -> None:
        """Load the content of a backend.

        Raises:
            CheckpointError: a map was stored with a type that cannot be converted.
        """
        self._order, self.writable = 0, False
        self.changes.clear()
        backend.owner = self._operator
        for each in self._maps.values():
            backend.declare(each.name, each.kind, each.evolution)
            each.drop_entries()
        if backend.evolve():
            backend.flush()
        for key, entry in backend.scan():
            for name, found in entry.items():
                self.map(name).set_entry(key, found)
                self._order = max(self._order, found[0])

    def take_changes(self) -> tuple[Change, ...]:
        """Return the changes since the last call, and forget them."""
        found = tuple(self.changes)
        self.changes.clear()
        return found

    def apply_changes(self, changes: Iterable[Change]) -> None:
        """Apply changes that another group of the task made."""
        for name, key, _, after in changes:
            self.map(name).set_entry(key, after)

    def revert_changes(self, changes: Iterable[Change]) -> None:
        """Undo changes, the last one first."""
        for name, key, before, _ in reversed([*changes]):
            self.map(name).set_entry(key, before)


def write_changes(changes: Iterable[Change], backend: StateBackend) -> None:
    """Write changes to a backend, and flush it."""
    changes = [*changes]
    for name in dict.fromkeys(change.state for change in changes):
        backend.declare(name, backend.kinds().get(name, _ANY_VALUE))
    for name, key, _, after in changes:
        entry = backend.enter(key)
        if after is MISSING:
            entry.pop(name, None)
        else:
            entry[name] = after
        backend.changed(key)
    backend.flush()
