"""Entries by key in pages, as operators see them for one call: enter, change, flush."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from headrace.errors import CheckpointError
from headrace.runtime.state.backend import Entry, KeyedTable, Values
from headrace.runtime.state.evolution import StateChange, change_of, stored_loads
from headrace.runtime.state.fields import SeenFields, current_fields
from headrace.runtime.state.kinds import NO_EVOLUTION, Evolution, StateKind
from headrace.runtime.state.page import PageTable
from headrace.runtime.state.pages.entries import EntryPages
from headrace.runtime.state.pages.schemas import NO_SCHEMAS, Schemas, schema_of
from headrace.runtime.state.pages.values import PagedValues

SpaceState = tuple[int, int, int, int, int]
"""For the header: pages, bytes, entries, scale, excess_cost (see ``PageTable``)."""

NO_PAGES: SpaceState = (1, 0, 0, 1, 0)

MakePages = Callable[[PageTable, dict[str, StateKind], set[Any], Schemas], EntryPages]


class PagedEntries(KeyedTable):
    """The entries of keys, or of pairs of key and namespace.

    At the first use ``open_header`` reads the header and calls ``set_stored``. Then ``make_pages``
    makes the pages.
    """

    def __init__(
        self,
        open_header: Callable[[], None],
        make_pages: MakePages,
        owner: Callable[[], str | None],
    ) -> None:
        self._open_header = open_header
        self._make_pages = make_pages
        self._owner = owner
        self._kinds: dict[str, StateKind] = {}
        self._evolutions: dict[str, Evolution] = {}
        self._changes: dict[str, StateChange] = {}
        """By slot, how its values are converted before the first use."""
        self._schemas = Schemas()
        self._stored_kinds: dict[str, StateKind] = {}
        self._live = _LiveEntries(self)
        self._changed: set[Any] = set()
        self._view: PagedValues | None = None
        self._opened: EntryPages | None = None
        self._state = NO_PAGES
        self.enter = self._live.__getitem__
        self.changed = self._changed.add

    def changed_all(self, keys: Iterable[Any]) -> None:
        """Report changes of the entries of many keys."""
        self._changed.update(keys)

    def set_stored(self, state: SpaceState, schemas: str) -> None:
        """Set the stored state from the header, and check the declared kinds against it."""
        self._state = state
        if schemas != NO_SCHEMAS:
            self._schemas.set_stored(schemas)
            self._stored_kinds = self._schemas.kinds()
        for slot in self._kinds:
            self._check_stored_slot(slot)

    def declare(self, slot: str, kind: StateKind, evolution: Evolution = NO_EVOLUTION) -> None:
        """Declare the kind of a slot.

        Large lists are read as ``ChunkedList``, large time buffers as ``ChunkedTimes``, and large
        maps as ``BucketedMap``, which is iterated bucket by bucket; small maps keep the order of
        insertion.
        """
        self._kinds[slot] = kind
        if evolution is not NO_EVOLUTION:
            self._evolutions[slot] = evolution
        self._check_stored_slot(slot)
        if self._opened is not None:
            self._opened.update_layout()
            self._convert(self._opened)

    def _check_stored_slot(self, slot: str) -> None:
        """Compare a slot with what is stored.

        Raises:
            CheckpointError: what is stored cannot be converted to what is declared.
        """
        before = self._stored_kinds.get(slot)
        if before is not None:
            seen = self._schemas.stored_fields().get(slot, {})
            evolution = self._evolutions.get(slot, NO_EVOLUTION)
            change = change_of(slot, before, self._kinds[slot], seen, evolution, self._owner())
            if change is not None:
                self._changes[slot] = change

    @property
    def must_evolve(self) -> bool:
        """Whether stored values have to be converted before the first use."""
        return bool(self._changes)

    def evolve(self) -> bool:
        """Convert stored values to what is declared; return whether there were any."""
        self._open_header()
        if not self._changes:
            return False
        self.pages()
        return True

    def _convert(self, pages: EntryPages) -> None:
        """Convert the values of the slots that have changed; also of those that nobody declares."""
        seen = self._schemas.stored_fields()
        if not self._changes and seen.keys() <= self._kinds.keys():
            return
        pages.loads = stored_loads(seen.values())
        if self._kinds and pages.loads is not pickle.loads:
            for slot in seen.keys() - self._kinds.keys():
                kind = self._stored_kinds[slot]
                with suppress(CheckpointError):  # it is the concern of who declares it
                    change = change_of(slot, kind, kind, seen[slot])
                    if change is not None:
                        self._changes[slot] = change
        if self._changes:
            pages.convert(self._changes)
            for slot in self._changes:
                self._schemas.set_fields(slot, current_fields(seen.get(slot, {})))
            self._changes.clear()
            known = {name for slot in self._kinds for name in seen.get(slot, {})}
            left = ({n: of[n] for n in of if n not in known} for of in seen.values())
            pages.loads = stored_loads(left)

    def fields(self) -> Mapping[str, SeenFields]:
        """Return the fields that the dataclasses of values had, by slot."""
        self._open_header()
        return self._schemas.stored_fields()

    def note_fields(self, slot: str, seen: SeenFields) -> None:
        """Keep the fields of dataclasses in a slot, as they are in values that are put now."""
        self._open_header()
        self._schemas.set_fields(slot, seen)

    def kinds(self) -> Mapping[str, StateKind]:
        """Return the kinds of the slots that were declared, or are stored."""
        self._open_header()
        return {**self._stored_kinds, **self._kinds}

    def single_slot_view(self, slot: str) -> Values | None:
        """Return a view of the values of the only slot, which loads page by page."""
        if self._view is None:
            self._view = PagedValues(self.pages(), slot)
        return self._view

    def end_single_slot_view(self) -> None:
        if self._view is not None:
            self._view.write_to_entries()
            self._view.clear()
            self._view.fallback = self.enter
            self._view = None

    def single_slot_items(self, slot: str) -> Iterable[tuple[Any, Any]]:
        """Return every key with the value of the only slot, page by page."""
        pages = self.pages()
        if self._view is not None:
            self._view.write_back()
            self._view = None
            pages.write_back()  # another view would not see what is live
            self._live.clear()
        return pages.values_of(slot)

    def remove_all(self) -> None:
        """Remove every entry from the store, at once."""
        self._view = None
        self._live.clear()
        self.pages().remove_all()

    def keys(self) -> Iterator[Any]:
        """Return every key that has a non-empty entry, page by page."""
        return self._write_view().keys()

    def scan(self) -> Iterator[tuple[Any, Entry]]:
        """Return every key and its non-empty entry, to be read only, page by page."""
        return self._write_view().scan()

    def _write_view(self) -> EntryPages:
        if self._view is not None:
            self._view.write_to_entries()
        return self.pages()

    def pages(self) -> EntryPages:
        """Return the pages; the first call reads the header."""
        pages = self._opened
        if pages is None:
            self._open_header()
            count, size_bytes, entries, scale, excess_cost = self._state
            table = PageTable(count, size_bytes, entries, scale=scale, excess_cost=excess_cost)
            pages = self._make_pages(table, self._kinds, self._changed, self._schemas)
            self._opened = pages
            self._convert(pages)
        return pages

    @property
    def schemas(self) -> str:
        """The schemas of all pages, for the header."""
        return self._schemas.text

    @property
    def stored_state(self) -> SpaceState:
        """The stored state, exactly as in the header."""
        return self._state

    def flush(self) -> tuple[SpaceState, str]:
        """Write all changes; return the table's state and the schemas, for the header."""
        pages = self._opened
        if pages is not None:
            if self._view is not None:
                self._view.write_back()
                self._view = None
            pages.flush()
            self._live.clear()
            table = pages.table
            self._state = (
                table.count,
                table.size_bytes,
                table.entries,
                table.scale,
                table.excess_cost,
            )
            if self._state == NO_PAGES:
                self._schemas.clear()
            elif self._kinds:
                # A state that was asked for late lies in pages of the schema before it.
                self._schemas.number_of(schema_of(self._kinds))
            self._stored_kinds = self._schemas.kinds()
        return self._state, self._schemas.text


class _LiveEntries(dict[Any, Entry]):
    """The entries touched so far; one that is not there is fetched."""

    __slots__ = ("_space",)

    def __init__(self, space: PagedEntries) -> None:
        super().__init__()
        self._space = space

    def __missing__(self, key: Any) -> Entry:
        entry: Entry = self._space.pages().fetch(key, {})
        self[key] = entry
        return entry
