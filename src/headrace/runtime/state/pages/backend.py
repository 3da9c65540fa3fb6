"""State in pages of a store whose calls are expensive, such as Spark's: few and small calls."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from headrace.errors import CheckpointError
from headrace.runtime.keys.key_groups import page_hasher, pair_page_hasher
from headrace.runtime.state.backend import (
    Entry,
    KeyedTable,
    PageStore,
    StateBackend,
    StateSize,
    Values,
)
from headrace.runtime.state.fields import SeenFields
from headrace.runtime.state.kinds import NO_EVOLUTION, Evolution, StateKind
from headrace.runtime.state.page import PageTable
from headrace.runtime.state.pages.entries import EntryPages
from headrace.runtime.state.pages.schemas import NO_SCHEMAS, Schemas
from headrace.runtime.state.pages.space import NO_PAGES, PagedEntries, SpaceState
from headrace.runtime.state.pages.tables import PagedTables
from headrace.runtime.state.timers.leaves import LeafStore
from headrace.runtime.state.timers.pages import TimerPages, TimerState

FORMAT = 8
"""The version of the record layout; increase it with each change. Others are refused."""

HEADER = "h"
"""The name of the record that every call reads, and most write."""


MAX_ONLY_PAGE_BYTES = 1 << 16
"""``only_pages`` leaves out larger pages."""

_FEW_TABLES = 4


def only_pages(header: bytes) -> Iterator[str]:
    """Yield the names of the pages that a call needs for any keys.

    These are small pages that are the only page of their table: of the entries by key, of the
    entries in namespaces, or of one of a few namespace tables. ``header``: the record ``HEADER``;
    nothing is yielded if it has another format.
    """
    found = pickle.loads(header)
    if found[0] != FORMAT:
        return
    *_, sizes, _, _, _, namespaced, tables = found
    spaces = [("p0", sizes)]
    if namespaced is not None:
        spaces.append(("n0", namespaced[0]))
    if tables is not None and len(tables[1]) <= _FEW_TABLES:
        spaces += [(f"w{id_}.0", space) for _, id_, space in tables[1]]
    for name, (count, size_bytes, entries, *_) in spaces:
        if count == 1 and entries and size_bytes <= MAX_ONLY_PAGE_BYTES:
            yield name


class PagedBackend(StateBackend):
    """State in pages, of one operator in one key group, for one call: read, change, ``flush``.

    Records: ``h`` the header, ``p<page>`` entries of keys, ``n<page>`` those of keys in namespaces,
    ``w<id>.<page>`` those of a namespace's table, ``l<id>.<chunk>``, ``m<id>.<bucket>`` and
    ``b<id>.<number>`` large lists, maps and time buffers, ``v<id>`` and ``e<id>`` other large
    values and entries, ``E<leaf>.<bucket>`` and ``Ed`` event-time timers, ``P...`` processing-time
    timers.

    The header is read at the first use; a call that uses no state reads nothing else and writes
    nothing. ``page_bytes``: the average size of a page; an entry of more than four times this is
    stored separately. Objects that an entry refers to twice stay one object only within one record.
    """

    def __init__(self, store: PageStore, max_parallelism: int, page_bytes: int = 16384) -> None:
        self._store = store
        self._page_bytes = page_bytes
        hash_of, new_id = page_hasher(max_parallelism), self._new_id
        self._max_parallelism = max_parallelism
        self._plain = self._open_space("p", hash_of)
        self._namespaced: PagedEntries | None = None
        self._namespaced_stored: tuple[SpaceState, str] | None = None
        self.tables = self._tables = PagedTables(
            self._read_header, lambda prefix: self._open_space(prefix, hash_of), new_id
        )
        self.enter, self.changed = self._plain.enter, self._plain.changed
        self._is_open = False
        self._stored: bytes | None = None
        self._next_id = 0
        self._header: dict[str, Any] = {}
        self._event_state: TimerState = None
        self._processing_state: TimerState = None
        self._events = TimerPages(LeafStore(store, "E", hash_of, new_id), self._event_timers)
        self._processing = TimerPages(
            LeafStore(store, "P", hash_of, new_id), self._processing_timers
        )
        self.event_timers = self._events
        self.processing_timers = self._processing

    @property
    def header(self) -> dict[str, Any]:
        """A few values of the task itself; written at ``flush`` if changed."""
        self._read_header()
        return self._header

    @header.setter
    def header(self, values: dict[str, Any]) -> None:
        self._read_header()
        self._header = values

    @property
    def in_namespaces(self) -> KeyedTable:  # type: ignore[override]
        """The entries of pairs ``(key, namespace)``; a page holds all namespaces of a key."""
        space = self._namespaced
        if space is None:
            space = self._namespaced = self._open_space(
                "n", pair_page_hasher(self._max_parallelism)
            )
            if self._namespaced_stored is not None:
                space.set_stored(*self._namespaced_stored)
        return space

    def declare(self, slot: str, kind: StateKind, evolution: Evolution = NO_EVOLUTION) -> None:
        self._plain.declare(slot, kind, evolution)

    def changed_all(self, keys: Iterable[Any]) -> None:
        """Report changes of the entries of many keys."""
        self._plain.changed_all(keys)

    def evolve(self) -> bool:
        """Convert stored values to what is declared; return whether there were any."""
        found = [self._plain.evolve(), self._tables.evolve()]
        if self._namespaced is not None:
            found.append(self._namespaced.evolve())
        return any(found)

    def fields(self) -> Mapping[str, SeenFields]:
        """Return the fields that the dataclasses of values had, by slot."""
        return self._plain.fields()

    def note_fields(self, slot: str, seen: SeenFields) -> None:
        """Keep the fields of dataclasses in a slot, as they are in values that are put now."""
        self._plain.note_fields(slot, seen)

    def kinds(self) -> Mapping[str, StateKind]:
        """Return the kinds of the slots that were declared, or are stored."""
        return self._plain.kinds()

    def single_slot_view(self, slot: str) -> Values | None:
        """Return a view of the values of the only slot, which loads page by page."""
        return self._plain.single_slot_view(slot)

    def end_single_slot_view(self) -> None:
        self._plain.end_single_slot_view()

    def single_slot_items(self, slot: str) -> Iterable[tuple[Any, Any]]:
        """Return every key with the value of the only slot, page by page."""
        return self._plain.single_slot_items(slot)

    def keys(self) -> Iterator[Any]:
        """Return every key that has a non-empty entry, page by page."""
        return self._plain.keys()

    def scan(self) -> Iterator[tuple[Any, Entry]]:
        """Return every key and its non-empty entry, to be read only, page by page."""
        return self._plain.scan()

    def size(self) -> StateSize:
        self._read_header()
        found = [self._plain.stored_state, *self._tables.stored_states()]
        if self._namespaced_stored is not None:
            found.append(self._namespaced_stored[0])
        return StateSize(sum(each[2] for each in found), sum(each[1] for each in found))

    def flush(self) -> None:
        if not self._is_open:
            return
        plain = self._plain.flush()
        if self._namespaced is not None:
            self._namespaced_stored = self._namespaced.flush()
            if self._namespaced_stored == (NO_PAGES, NO_SCHEMAS):
                self._namespaced_stored = None
        self._event_state = self._events.flush()
        self._processing_state = self._processing.flush()
        rest = (
            *plain,
            self._event_state,
            self._processing_state,
            self._namespaced_stored,
            self._tables.flush(),
        )
        if rest == (NO_PAGES, NO_SCHEMAS, None, None, None, None):
            self._next_id = 0  # nothing is stored, so no id is taken
            if not self._header:
                if self._stored is not None:
                    self._store.remove(HEADER)
                    self._stored = None
                return
        data = pickle.dumps((FORMAT, self._next_id, pickle.dumps(self._header, 5), *rest), 5)
        if data != self._stored:
            self._store.put(HEADER, data)
            self._stored = data

    def _open_space(self, prefix: str, hash_of: Callable[[Any], int]) -> PagedEntries:
        def make_pages(
            table: PageTable, kinds: dict[str, StateKind], changed: set[Any], schemas: Schemas
        ) -> EntryPages:
            return EntryPages(
                self._store,
                prefix,
                table,
                self._page_bytes,
                hash_of,
                kinds,
                self._new_id,
                changed,
                schemas,
                self.owner,
            )

        return PagedEntries(self._read_header, make_pages, lambda: self.owner)

    def _read_header(self) -> None:
        """Read the header, once."""
        if self._is_open:
            return
        self._is_open = True
        data = self._stored = self._store.get(HEADER)
        if data is None:
            return
        found = pickle.loads(data)
        if found[0] != FORMAT:
            raise CheckpointError(
                f"the keyed state has format {found[0]}, this version reads {FORMAT}",
                hint="use the version of Headrace that wrote it, or start anew with"
                " headrace run --fresh",
            )
        (
            _,
            self._next_id,
            header,
            sizes,
            schemas,
            self._event_state,
            self._processing_state,
            self._namespaced_stored,
            tables,
        ) = found
        self._header = pickle.loads(header)
        self._plain.set_stored(sizes, schemas)
        if tables is not None:
            self._tables.set_stored(tables)
        if self._namespaced is not None and self._namespaced_stored is not None:
            self._namespaced.set_stored(*self._namespaced_stored)

    def _event_timers(self) -> TimerState:
        self._read_header()
        return self._event_state

    def _processing_timers(self) -> TimerState:
        self._read_header()
        return self._processing_state

    def _new_id(self) -> int:
        self._next_id += 1
        return self._next_id
