"""State in plain dictionaries: for the local and the batch runner, and for tests."""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from headrace.runtime.state.backend import (
    MISSING,
    Entry,
    KeyedTable,
    NamespaceTables,
    StateBackend,
    StateSize,
    Timer,
    TimerStore,
    Values,
)
from headrace.runtime.state.evolution import StateChange, change_of
from headrace.runtime.state.fields import SeenFields, classes_in, fields_of, parts_of
from headrace.runtime.state.kinds import NO_EVOLUTION, Evolution, StateKind
from headrace.runtime.state.refusals import find_unpicklable_value
from headrace.runtime.state.time_buffer import TimeBuffer

DEAD_TIMERS = 64
"""A heap with fewer deleted timers than this is left as it is."""


class HeapTimers(TimerStore):
    """Timers in a heap; deleted ones are skipped, and removed once they are the majority."""

    __slots__ = ("_heap", "_live", "_order")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Timer]] = []
        self._live: dict[Timer, int] = {}
        self._order = itertools.count()

    def register(self, timer: Timer) -> None:
        if timer not in self._live:
            order = next(self._order)
            self._live[timer] = order
            heapq.heappush(self._heap, (timer.time_ms, order, timer))

    def delete(self, timer: Timer) -> None:
        self._live.pop(timer, None)
        if len(self._heap) > 2 * len(self._live) + DEAD_TIMERS:
            live = self._live
            self._heap = [item for item in self._heap if live.get(item[2]) == item[1]]
            heapq.heapify(self._heap)

    def earliest_ms(self) -> int | None:
        self._drop_deleted()
        return self._heap[0][0] if self._heap else None

    def pop_due(self, time_ms: int) -> Timer | None:
        self._drop_deleted()
        if not self._heap or self._heap[0][0] > time_ms:
            return None
        timer = heapq.heappop(self._heap)[2]
        del self._live[timer]
        return timer

    def scan(self) -> Iterator[tuple[int, Timer]]:
        for timer, order in sorted(self._live.items(), key=lambda item: (item[0][0], item[1])):
            yield order, timer

    def _drop_deleted(self) -> None:
        heap, live = self._heap, self._live
        while heap and live.get(heap[0][2]) != heap[0][1]:
            heapq.heappop(heap)


class _HeapValues(Values):
    __slots__ = ()

    def read_all(self, keys: Collection[Any], absent: Any) -> list[Any]:
        return [*map(self.get, keys, itertools.repeat(absent))]

    def drop(self, key: Any) -> None:
        del self[key]


class HeapEntries(KeyedTable):
    """Entries in a dictionary."""

    owner: str | None = None

    def __init__(self) -> None:
        self._entries: defaultdict[Any, Entry] = defaultdict(dict)
        self._kinds: dict[str, StateKind] = {}
        self._fields: dict[str, SeenFields] = {}
        """The fields of dataclasses in imported values, until these are converted."""
        self._view: tuple[Values, str] | None = None
        self.enter = self._entries.__getitem__
        # The entry is the store, so there is nothing to note: a queue of no length takes anything.
        self.changed = deque(maxlen=0).append

    def changed_all(self, keys: Iterable[Any]) -> None:
        """Do nothing, as the entries are the store."""

    def peek(self, key: Any) -> Entry:
        """Return the entry of a key, to be read only; no entry is made for a missing key."""
        return self._entries.get(key, {}) if self._view is None else self.enter(key)

    def declare(self, slot: str, kind: StateKind, evolution: Evolution = NO_EVOLUTION) -> None:
        """Declare the kind of a slot; values of an earlier declaration are converted."""
        change = _declare(self._kinds, self._fields, slot, kind, evolution, self.owner)
        if change is not None:
            self.convert(slot, change.apply)

    def convert(self, slot: str, convert: Callable[[Any], Any]) -> None:
        """Convert the values of a slot; None removes one."""
        self.end_single_slot_view()
        for entry in self._entries.values():
            if slot in entry:
                found = convert(entry.pop(slot))
                if found is not None:
                    entry[slot] = found

    def note_fields(self, slot: str, seen: SeenFields) -> None:
        """Keep the fields of dataclasses in a slot, as they are in values that are put now."""
        self._fields[slot] = seen

    def fields(self) -> Mapping[str, SeenFields]:
        """Return the fields of the dataclasses of values, by slot."""
        found = {slot: {**seen} for slot, seen in self._fields.items()}
        for _, entry in self.scan():
            for slot, value in entry.items():
                for cls in {cls for part in parts_of(value) for cls in classes_in(part)}:
                    named = fields_of(cls)
                    if named is not None:
                        found.setdefault(slot, {}).setdefault(*named)
        return found

    def kinds(self) -> Mapping[str, StateKind]:
        """Return the kinds of the slots that were declared."""
        return self._kinds

    def single_slot_view(self, slot: str) -> Values | None:
        """Return the values of the only slot; entries are taken over."""
        if self._view is None:
            if any(entry and [*entry] != [slot] for entry in self._entries.values()):
                return None
            values = _HeapValues()
            values.update({key: entry[slot] for key, entry in self._entries.items() if entry})
            self._entries.clear()
            self._view = values, slot
            self.enter = self._copy_entry
        return self._view[0]

    def end_single_slot_view(self) -> None:
        """End the single-slot view."""
        if self._view is not None:
            values, slot = self._view
            self._view = None
            self._entries.update({key: {slot: value} for key, value in values.items()})
            values.clear()
            self.enter = values.fallback = self._entries.__getitem__

    def _copy_entry(self, key: Any) -> Entry:
        assert self._view is not None
        values, slot = self._view
        return {slot: values[key]} if key in values else {}

    def single_slot_items(self, slot: str) -> Iterable[tuple[Any, Any]]:
        """Return every key with the value of the only slot."""
        if self._view is not None:
            return self._view[0].items()
        return ((key, entry[slot]) for key, entry in self._entries.items() if entry)

    def keys(self) -> Iterator[Any]:
        if self._view is not None:
            return iter(self._view[0])
        return (key for key, entry in self._entries.items() if entry)

    def scan(self) -> Iterator[tuple[Any, Entry]]:
        """Return every key and its non-empty entry."""
        if self._view is not None:
            values, slot = self._view
            return ((key, {slot: value}) for key, value in values.items())
        return ((key, entry) for key, entry in self._entries.items() if entry)

    def count(self) -> int:
        """Return the number of entries, including empty entries that ``flush`` will remove."""
        return len(self._entries if self._view is None else self._view[0])

    def newest(self) -> tuple[Any, Entry] | None:
        """Return the key that was entered last, with its entry."""
        if self._view is not None:
            values, slot = self._view
            key = next(reversed(values), MISSING)
            return None if key is MISSING else (key, {slot: values[key]})
        key = next(reversed(self._entries), MISSING)
        return None if key is MISSING else (key, self._entries[key])

    def flush(self) -> None:
        """Drop the entries that are empty."""
        empty = [key for key, entry in self._entries.items() if not entry]
        for key in empty:
            del self._entries[key]


def _declare(
    kinds: dict[str, StateKind],
    fields: dict[str, SeenFields],
    slot: str,
    kind: StateKind,
    evolution: Evolution,
    owner: str | None,
) -> StateChange | None:
    """Note the kind of a slot; return how the values of an earlier declaration are converted."""
    known = kinds.setdefault(slot, kind)
    change = change_of(slot, known, kind, fields.pop(slot, {}), evolution, owner)
    kinds[slot] = kind
    return change


class HeapTables(NamespaceTables):
    """A dictionary of entries for each namespace."""

    def __init__(self) -> None:
        self._tables: dict[Any, HeapEntries] = {}
        self._kinds: dict[str, StateKind] = {}
        self._fields: dict[str, SeenFields] = {}
        self.owner: str | None = None

    def declare(self, slot: str, kind: StateKind, evolution: Evolution = NO_EVOLUTION) -> None:
        """Declare the kind of a slot; values of an earlier declaration are converted."""
        change = _declare(self._kinds, self._fields, slot, kind, evolution, self.owner)
        if change is not None:
            for table in self._tables.values():
                table.convert(slot, change.apply)

    def note_fields(self, slot: str, seen: SeenFields) -> None:
        """Keep the fields of dataclasses in a slot, as they are in values that are put now."""
        self._fields[slot] = seen

    def fields(self) -> Mapping[str, SeenFields]:
        """Return the fields of the dataclasses of values, by slot."""
        found = {slot: {**seen} for slot, seen in self._fields.items()}
        for table in self._tables.values():
            for slot, seen in table.fields().items():
                found.setdefault(slot, {}).update(seen)
        return found

    def kinds(self) -> Mapping[str, StateKind]:
        """Return the kind of the slot that was declared."""
        return self._kinds

    def namespaces(self) -> list[Any]:
        """Return the namespaces that have a table."""
        return [*self._tables]

    def has(self, namespace: Any) -> bool:
        """Return whether a namespace has a table."""
        return namespace in self._tables

    def table(self, namespace: Any) -> HeapEntries:
        """Return the entries of a namespace."""
        table = self._tables.get(namespace)
        if table is None:
            table = self._tables[namespace] = HeapEntries()
        return table

    def count(self) -> int:
        """Return how many entries all tables have."""
        return sum(table.count() for table in self._tables.values())

    def newest(self) -> list[HeapEntries]:
        """Return the table that was made last, if there is one."""
        return [self._tables[next(reversed(self._tables))]] if self._tables else []

    def drop(self, namespace: Any) -> None:
        """Forget a table."""
        self._tables.pop(namespace, None)

    def flush(self) -> None:
        """Drop empty tables and entries."""
        for namespace, table in [*self._tables.items()]:
            table.flush()
            if next(table.keys(), self) is self:
                del self._tables[namespace]


class HeapBackend(HeapEntries, StateBackend):
    """State in memory, for as long as the object exists.

    ``for_pages``: raise an error for values that cannot be pickled, as a paged backend would. For
    speed, ``flush`` checks the newest entry only, and the first value of each type in a state.
    """

    def __init__(self, for_pages: bool = False) -> None:
        super().__init__()
        self._for_pages = for_pages
        self._pickled: set[tuple[Any, type]] = set()
        self.in_namespaces = self._namespaced = HeapEntries()
        self.tables = self._tables = HeapTables()
        self.event_timers = HeapTimers()
        self.processing_timers = HeapTimers()
        self.header: dict[str, Any] = {}

    def evolve(self) -> bool:
        """Return False: values are converted as soon as a state is declared."""
        return False

    def size(self) -> StateSize:
        """Return how many entries there are."""
        return StateSize(self.count() + self._namespaced.count() + self._tables.count(), None)

    def flush(self) -> None:
        """Drop the entries that are empty.

        Raises:
            UnpicklableStateError: a value cannot be pickled, where that counts.
        """
        super().flush()
        self._namespaced.flush()
        self._tables.flush()
        if self._for_pages:
            for space in (self, self._namespaced, *self._tables.newest()):
                self._check_picklable(space)

    def _check_picklable(self, space: HeapEntries) -> None:
        """Raise UnpicklableStateError if the newest entry has a value that cannot be pickled.

        Each type is checked once per slot.
        """
        found = space.newest()
        if found is None:
            return
        key, entry = found
        for slot, value in entry.items():
            kind = slot, _kind_of(value)
            if kind not in self._pickled:
                refused = find_unpicklable_value(self.owner, slot, key, value)
                if refused is not None:
                    raise refused
                self._pickled.add(kind)


def _kind_of(value: Any) -> type:
    """Return the type of a value, or of the newest one in a list, a map or a buffer by time."""
    if type(value) is TimeBuffer:
        value = value.values
    if type(value) is list and value:
        return type(value[-1])
    if type(value) is dict and value:
        return type(value[next(reversed(value))])
    return type(value)
