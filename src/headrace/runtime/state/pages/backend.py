"""State in pages of a store whose calls are dear, such as Spark's: few of them, and small."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

from headrace.errors import CheckpointError
from headrace.runtime.key_groups import page_hasher
from headrace.runtime.state.backend import Entry, PageStore, StateBackend, Values
from headrace.runtime.state.pages.entries import EntryPages
from headrace.runtime.state.pages.page import PageTable
from headrace.runtime.state.pages.values import PagedValues
from headrace.runtime.state.timers.leaves import LeafStore
from headrace.runtime.state.timers.pages import TimerPages, TimerState

FORMAT = 3
"""The layout of the records; whoever changes it must still read the older ones."""

NO_PAGES = (1, 0, 0, 1, 0)

HEADER = "h"
"""The name of the record that every call reads, and most write."""


class PagedBackend(StateBackend):
    """The state of one operator in one key group, for one call: enter, change, flush.

    Records: ``h`` the header, ``p<page>`` entries, ``l<id>.<chunk>`` and ``m<id>.<bucket>`` big
    lists and maps, ``v<id>`` and ``e<id>`` other big values and entries, ``e``/``t`` timers:
    ``E<leaf>.<bucket>`` and ``Ed`` (event time), ``P...`` (processing time). The header is read
    at the first use; a call that touches nothing reads nothing else and writes nothing.

    ``page_bytes``: what a page holds on average; an entry of more than four times this moves
    out of its page. Objects that one entry refers to twice stay one object only while they lie
    in one record.
    """

    def __init__(self, store: PageStore, max_parallelism: int, page_bytes: int = 16384) -> None:
        self._store = store
        self._max_parallelism = max_parallelism
        self._page_bytes = page_bytes
        self._kinds: dict[str, str] = {}
        self._live = _LiveEntries(self)
        self._changed: set[Any] = set()
        self._bare: PagedValues | None = None
        self.enter = self._live.__getitem__
        self.changed = self._changed.add
        self._opened: EntryPages | None = None
        self._stored: bytes | None = None
        self._next_id = 0
        self._header: dict[str, Any] = {}
        self._event_state: TimerState = None
        self._processing_state: TimerState = None
        hash_of, new_id = page_hasher(max_parallelism), self._new_id
        self._events = TimerPages(LeafStore(store, "E", hash_of, new_id), self._event_timers)
        self._processing = TimerPages(
            LeafStore(store, "P", hash_of, new_id), self._processing_timers
        )
        self.event_timers = self._events
        self.processing_timers = self._processing

    @property
    def header(self) -> dict[str, Any]:
        """A few values of the task itself; written at ``flush`` if changed."""
        self._open()
        return self._header

    @header.setter
    def header(self, values: dict[str, Any]) -> None:
        self._open()
        self._header = values

    def declare(self, slot: str, kind: str) -> None:
        """Say what a slot holds: ``value``, ``list`` or ``map``.

        Big lists come back as ``ChunkedList``, big maps as ``BucketedMap``, which is iterated
        over bucket by bucket; small maps keep the order of insertion.
        """
        self._kinds[slot] = kind
        if self._opened is not None:
            self._opened.reshape()

    def single_slot_view(self, slot: str) -> Values | None:
        """The values of the only slot, page by page as they are asked for."""
        if self._bare is None:
            self._bare = PagedValues(self._open(), slot)
        return self._bare

    def end_single_slot_view(self) -> None:
        """Go back to entries."""
        if self._bare is not None:
            self._bare.fold()
            self._bare.clear()
            self._bare.fallback = self.enter
            self._bare = None

    def keys(self) -> Iterator[Any]:
        """Every key that has a non-empty entry, page by page."""
        if self._bare is not None:
            self._bare.fold()
        return self._open().keys()

    def flush(self) -> None:
        """Write what changed. Live entries are invalid afterwards."""
        pages = self._opened
        if pages is None:
            return
        if self._bare is not None:
            self._bare.settle()
            self._bare = None
        pages.flush()
        self._live.clear()
        self._event_state = self._events.flush()
        self._processing_state = self._processing.flush()
        table = pages.table
        rest = (
            (table.count, table.size_bytes, table.entries, table.grain, table.regret),
            self._event_state,
            self._processing_state,
        )
        if rest == (NO_PAGES, None, None):
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

    def _open(self) -> EntryPages:
        """The pages; reads the header when it is asked for first."""
        pages = self._opened
        if pages is not None:
            return pages
        table = PageTable()
        data = self._stored = self._store.get(HEADER)
        if data is not None:
            found = pickle.loads(data)
            if found[0] not in (2, FORMAT):
                raise CheckpointError(
                    f"the keyed state has format {found[0]}, this version reads {FORMAT}",
                    hint="take a savepoint with the version that wrote it and restore from that",
                )
            _, self._next_id, header, sizes, self._event_state, self._processing_state = found
            self._header = pickle.loads(header)
            count, size_bytes, entries = sizes[:3]
            grain, regret = sizes[3:] or (1, 0)  # format 2 had neither
            table = PageTable(count, size_bytes, entries, grain=grain, regret=regret)
        pages = self._opened = EntryPages(
            self._store,
            table,
            self._page_bytes,
            self._max_parallelism,
            self._kinds,
            self._new_id,
            self._changed,
        )
        return pages

    def _event_timers(self) -> TimerState:
        self._open()
        return self._event_state

    def _processing_timers(self) -> TimerState:
        self._open()
        return self._processing_state

    def _new_id(self) -> int:
        self._next_id += 1
        return self._next_id


class _LiveEntries(dict[Any, Entry]):
    """The entries touched so far; one that is not there is fetched."""

    __slots__ = ("_backend",)

    def __init__(self, backend: PagedBackend) -> None:
        super().__init__()
        self._backend = backend

    def __missing__(self, key: Any) -> Entry:
        entry: Entry = self._backend._open().fetch(key, {})
        self[key] = entry
        return entry
