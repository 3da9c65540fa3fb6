"""The seam between operators and whatever keeps their state.

A backend belongs to one operator in one key group. Everything it keeps for one key is an
**entry**: a dictionary from slot (a state's name) to value. Operators work on live entries; the
backend decides when they are fetched and written. State in namespaces (of windows, say) has
entries of its own, one for each pair of key and namespace.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from headrace.runtime.state.fields import SeenFields
from headrace.runtime.state.kinds import NO_EVOLUTION, Evolution, StateKind

Entry = dict[Any, Any]


class Timer(NamedTuple):
    """A timer of ``key`` (in ``namespace``), which fires at ``time_ms``."""

    time_ms: int
    key: Any
    namespace: Any = None


class StateSize(NamedTuple):
    """The size of state.

    ``entries``: the number of keys, and of pairs of key and namespace, that have state.
    ``size_bytes``: of the pages with these entries, without large values, which are stored
    separately; None: not known.
    """

    entries: int
    size_bytes: int | None


MISSING: Any = object()
"""The marker for a missing value."""


class Values(dict[Any, Any], ABC):
    """A single-slot view: the values of a table's only slot, by key; ``MISSING`` if there is none.

    After setting a value, call ``changed`` of the table. After ``end_single_slot_view``, missing
    values are read from entries, by ``fallback``.
    """

    __slots__ = ("fallback",)

    def __init__(self) -> None:
        super().__init__()
        self.fallback: Callable[[Any], Entry] | None = None

    def __missing__(self, key: Any) -> Any:
        return self.absent(key) if self.fallback is None else self.fallback(key)

    def absent(self, key: Any) -> Any:
        """Return the value of a key that is not loaded."""
        return MISSING

    def read_all(self, keys: Collection[Any], absent: Any) -> list[Any]:
        """Return the values of many keys; ``absent`` for those that have none."""
        found = map(self.__getitem__, keys)
        return [absent if value is MISSING else value for value in found]

    @abstractmethod
    def drop(self, key: Any) -> None:
        """Remove a key that has a value."""


class PageStore(Protocol):
    """A store of byte strings by name, for one key group; on Spark, a part of its state store."""

    def get(self, name: str) -> bytes | None:
        """Return the bytes under a name, or None."""

    def put(self, name: str, data: bytes) -> None:
        """Store bytes under a name."""

    def remove(self, name: str) -> None:
        """Remove a name; a missing one is no error."""


class TimerStore(ABC):
    """Timers ordered by time; a timer that is registered twice fires once."""

    @abstractmethod
    def register(self, timer: Timer) -> None:
        """Add a timer."""

    @abstractmethod
    def delete(self, timer: Timer) -> None:
        """Remove a timer; a missing one is no error."""

    @abstractmethod
    def earliest_ms(self) -> int | None:
        """Return the time of the next timer, or None."""

    @abstractmethod
    def pop_due(self, time_ms: int) -> Timer | None:
        """Remove and return the next timer at or before ``time_ms``, or None.

        Timers with equal times are returned in the order of registration.
        """

    @abstractmethod
    def scan(self) -> Iterator[tuple[int, Timer]]:
        """Return every timer with its order of registration, as they will fire; nothing changes."""


class KeyedTable(ABC):
    """Entries by key; an entry is a dictionary with a value per slot (state)."""

    enter: Callable[[Any], Entry]
    """Returns the live entry of a key; it is empty if nothing is stored.

    It stays valid, and is the same object for the same key, until ``flush``. An attribute, so
    that it can be a dictionary's own method: it is called for every record.
    """

    changed: Callable[[Any], None]
    """Reports a change of a key's entry; call it after each change, also to empty."""

    def changed_all(self, keys: Iterable[Any]) -> None:
        """Report changes of the entries of many keys."""
        for key in keys:
            self.changed(key)

    def peek(self, key: Any) -> Entry:
        """Return the entry of a key, to be read only; it is empty if nothing is stored."""
        return self.enter(key)

    @abstractmethod
    def declare(self, slot: str, kind: StateKind, evolution: Evolution = NO_EVOLUTION) -> None:
        """Declare the kind of a slot: a value, a list, a map (a dict) or a ``TimeBuffer``.

        With a time-to-live, each value is a pair with the time (ms) of its last use. A backend may
        return objects that behave like a ``list`` (append, extend, iteration, len), a ``dict`` or a
        ``TimeBuffer``.

        ``evolution``: how values of an earlier program are converted.

        Raises:
            CheckpointError: the stored state has a kind or type that cannot be converted.
        """

    @abstractmethod
    def kinds(self) -> Mapping[str, StateKind]:
        """Return the kinds of the slots that were declared, or are stored, by slot."""

    @abstractmethod
    def fields(self) -> Mapping[str, SeenFields]:
        """Return the fields that the dataclasses of stored values had, by slot."""

    @abstractmethod
    def note_fields(self, slot: str, seen: SeenFields) -> None:
        """Keep the fields that dataclasses have in the values that are put from now on.

        The classes have others by now: the values were stored by an earlier program.
        """

    @abstractmethod
    def single_slot_view(self, slot: str) -> Values | None:
        """Return the values of the only slot, by key: cheaper than an entry for each.

        None if a key may have another slot. The view is valid until ``flush`` (on the heap: until
        ``end_single_slot_view``). Until then it holds the current values, and ``enter`` returns
        copies.
        """

    @abstractmethod
    def end_single_slot_view(self) -> None:
        """End the single-slot view, as there is a second slot; values read before stay valid."""

    @abstractmethod
    def single_slot_items(self, slot: str) -> Iterable[tuple[Any, Any]]:
        """Return each key with its value in the only slot.

        The table must not change while the result is read. A view from ``single_slot_view`` is no
        longer valid: call that again.
        """

    @abstractmethod
    def keys(self) -> Iterator[Any]:
        """Return every key that has a non-empty entry, in no order."""

    @abstractmethod
    def scan(self) -> Iterator[tuple[Any, Entry]]:
        """Return each key with its non-empty entry, read-only; loaded pages are not kept."""


class NamespaceTables(ABC):
    """One table by key for each namespace, if many keys share few namespaces.

    Aligned windows are such namespaces. Sessions are not: each belongs to one key, and is stored in
    ``in_namespaces``. A table that is not used costs nothing, and it is removed as a whole. All
    tables have the same single slot.
    """

    @abstractmethod
    def declare(self, slot: str, kind: StateKind, evolution: Evolution = NO_EVOLUTION) -> None:
        """Declare the kind of the only slot of all tables.

        Raises:
            CheckpointError: the stored state has a kind or type that cannot be converted.
        """

    @abstractmethod
    def fields(self) -> Mapping[str, SeenFields]:
        """Return the fields that the dataclasses of stored values had, by slot."""

    @abstractmethod
    def note_fields(self, slot: str, seen: SeenFields) -> None:
        """Keep the fields that dataclasses have in the values that are put from now on."""

    @abstractmethod
    def kinds(self) -> Mapping[str, StateKind]:
        """Return the kind of the slot that was declared, or is stored, by slot."""

    @abstractmethod
    def namespaces(self) -> list[Any]:
        """Return the namespaces that have a table, in no order."""

    @abstractmethod
    def has(self, namespace: Any) -> bool:
        """Return whether a namespace has a table."""

    @abstractmethod
    def table(self, namespace: Any) -> KeyedTable:
        """Return the table of a namespace, created if it is missing.

        It is valid until ``flush``, or until it is dropped.
        """

    @abstractmethod
    def drop(self, namespace: Any) -> None:
        """Remove a table with its content."""

    def scan(self) -> Iterator[tuple[tuple[Any, Any], Entry]]:
        """Yield every pair of key and namespace with its entry, to be read only."""
        for namespace in self.namespaces():
            for key, entry in self.table(namespace).scan():
                yield (key, namespace), entry


class StateBackend(KeyedTable):
    """The state of one operator in one key group: entries, timers and a small header."""

    event_timers: TimerStore
    processing_timers: TimerStore
    header: dict[str, Any]
    """A few values of the task itself (watermarks and such); written at ``flush`` if changed."""

    owner: str | None = None
    """The operator's name, for messages."""

    in_namespaces: KeyedTable
    """The entries of pairs ``(key, namespace)``, apart from those of keys.

    All namespaces of a key lie in its key group, near each other. To clear one pair's state, clear
    its entry and report it as changed.
    """

    tables: NamespaceTables
    """The tables of namespaces that many keys share."""

    @abstractmethod
    def evolve(self) -> bool:
        """Convert stored values to what is declared; return whether there were any.

        Call it once all states are declared: values that nobody reads are converted too. ``flush``
        must follow.
        """

    @abstractmethod
    def size(self) -> StateSize:
        """Return how much state there was at the last ``flush``."""

    @abstractmethod
    def flush(self) -> None:
        """Write all changes to the store; entries read before are invalid (not on the heap)."""
