"""The entries of a key group in pages; large entries and values are separate records."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from headrace.common._storage.pickles import loads_of_state
from headrace.errors import CheckpointError
from headrace.runtime.block import pickle_immutable
from headrace.runtime.immutability import ATOMIC_TYPES
from headrace.runtime.state.backend import Entry, PageStore
from headrace.runtime.state.evolution import StateChange, check_page
from headrace.runtime.state.fields import (
    CLASS_ERRORS,
    check_fields,
    class_of_newest,
    classes_in,
    unreadable_error,
)
from headrace.runtime.state.kinds import StateKind
from headrace.runtime.state.page import Page, PageTable, Stored, get_required_record
from headrace.runtime.state.pages.bucketed_map import BucketedMap, remove_map
from headrace.runtime.state.pages.chunked_list import ChunkedList, remove_list
from headrace.runtime.state.pages.chunked_times import ChunkedTimes, remove_times
from headrace.runtime.state.pages.compact import (
    Layout,
    compactor,
    expander,
    holds_containers,
    layout_of,
    packer,
    unpacker,
)
from headrace.runtime.state.pages.hashed import HashedPages
from headrace.runtime.state.pages.schemas import Schemas, schema_of
from headrace.runtime.state.refusals import storage_error
from headrace.runtime.state.stored_objects import Loads
from headrace.runtime.state.time_buffer import TimeBuffer

PAGE_FORMAT = 1
"""How a page's bytes are laid out; another format is refused."""

SPILL_PAGES = 4
"""An entry of more than this many pages' bytes moves out of its page."""

_OF_A_CLASS = pickle.STACK_GLOBAL[0]
"""A pickle without this byte contains no object of a class, so no object can lack a field.

It is an int, because a search for ``bytes`` takes eight times as long: Python first raises and
drops an error.
"""

_SAMPLED = 64
"""Only this many entries of a call are searched for dataclasses; all would cost 7 % more."""

_BIG = frozenset({ChunkedList, BucketedMap, ChunkedTimes})


class EntryPages(HashedPages):
    """Pages of entries.

    An entry whose states were declared and have plain values is stored in its page in compact form.
    Other small entries are pickled. An entry larger than ``SPILL_PAGES`` pages is stored as
    ``(rest, refs)``. ``refs`` has references to the slots that are larger than a page: these are
    stored separately, a list as ``ChunkedList``, a map as ``BucketedMap``, a time buffer as
    ``ChunkedTimes``, any other value as record ``v<id>``. ``rest`` is the pickled remainder, or the
    id of a record ``e<id>`` if the remainder is too large too.
    """

    drops_empty = True
    adapts = True

    def __init__(
        self,
        store: PageStore,
        prefix: str,
        table: PageTable,
        page_bytes: int,
        hash_of: Callable[[Any], int],
        kinds: dict[str, StateKind],
        new_id: Callable[[], int],
        changed: set[Any],
        schemas: Schemas,
        owner: str | None = None,
    ) -> None:
        super().__init__(store, prefix, table, page_bytes, changed)
        self.hash_of = hash_of
        self._kinds = kinds
        self._schemas = schemas
        self._owner = owner
        self.update_layout()
        self._new_id = new_id
        self.loads: Loads = loads_of_state()
        """Reads pickled entries; other than this one while there are objects to be converted."""
        self._converted: frozenset[str] = frozenset()
        """The states that are being converted: their pages may have other kinds."""
        self._sampled: set[tuple[Any, type]] = set()
        self._entries_to_sample = _SAMPLED
        self._read: dict[int, bytes] = {}
        """Records as they were read, to tell whether a value was changed in place."""
        self._kept: set[int] = set()
        self._dropped: dict[int, tuple[Any, ...]] = {}

    def update_layout(self) -> None:
        """Recompute the layout after states were declared; no effect after a page was read."""
        if not self._pages:
            self._schema = schema_of(self._kinds)
            layout = self._layout = layout_of(self._schema)
            self.compact = compactor(layout)
            self.expanded = expander(layout)
            self.watched = holds_containers(layout)
            self._pack = packer(layout, _BIG)
            self._unpack = unpacker(layout)

    def read(self, data: bytes) -> tuple[dict[Any, Any], dict[Any, Stored]]:
        """Return a page's compact and pickled values; entries of an older schema are pickled.

        Raises:
            CheckpointError: the page has another format, or a schema that nobody knows, or a class
                cannot be imported.
        """
        try:
            found: Any = self.loads(data)
        except CLASS_ERRORS as error:
            raise unreadable_error(self._owner, error) from error
        if type(found) is not tuple or len(found) != 4 or found[0] != PAGE_FORMAT:
            format_ = found[0] if type(found) is tuple and found else found
            raise CheckpointError(
                f"a page of keyed state has the format {str(format_)[:40]!r}, this version reads"
                f" {PAGE_FORMAT}",
                where={"operator": str(self._owner)},
                hint="use the version of Headrace that wrote it, or start anew with"
                " headrace run --fresh",
            )
        _, number, plain, packed = found
        schema = self._schemas.schema(number, self._owner)
        if schema != self._schema:
            for slot, before in schema:
                now = self._kinds.get(slot)
                if now is not None and slot not in self._converted:
                    check_page(slot, before, now, self._owner)
            layout = layout_of(schema)
            if layout != self._layout:
                expanded = expander(layout)
                if packer(layout, _BIG) is not None:
                    packed = {
                        key: _restore_names(stored, layout, self.loads)
                        for key, stored in packed.items()
                    }
                packed |= {key: pickle.dumps(expanded(value), 5) for key, value in plain.items()}
                plain = {}
        return plain, packed

    def serialize_page(self, page: Page) -> bytes:
        """Return a page's bytes: its format, the number of its schema, and its entries."""
        samples = islice(page.plain.items(), 1)
        if self._entries_to_sample:
            # Frozen dataclasses may be compact; new entries are at the end.
            values = page.plain.values()
            for value in (*islice(values, 2), *islice(reversed(values), 2)):
                if type(value) not in ATOMIC_TYPES:
                    self._sample_classes(self.expanded(value))
        number = self._schemas.number_of(self._schema)
        return pickle_immutable((PAGE_FORMAT, number, page.plain, page.packed), samples)

    def serialize(self, key: Any, value: Entry, old: Stored | None) -> Stored:
        """Return the entry, pickled alone, or ``(rest, refs)``.

        Raises:
            UnpicklableStateError: a value in it cannot be pickled.
            StateTooLargeError: a value in it is larger than the store allows.
        """
        if self._entries_to_sample:
            self._sample_classes(value)
        try:
            if type(old) is not tuple:
                form = value if self._pack is None else self._pack(value)
                if type(form) is tuple or _BIG.isdisjoint(map(type, value.values())):
                    data = pickle.dumps(form, 5)
                    if len(data) <= SPILL_PAGES * self._page_bytes:
                        return data
            return self._spill(value, old)
        except Exception as error:
            refused = storage_error(self._owner, key, value, error, _BIG)
            if refused is error:
                raise
            raise refused from None

    def _sample_classes(self, entry: Entry) -> None:
        self._entries_to_sample = max(self._entries_to_sample - 1, 0)
        for slot, value in entry.items():
            seen = slot, class_of_newest(value)
            if seen not in self._sampled:
                self._sampled.add(seen)
                for cls in classes_in(value):
                    self._schemas.note_class(slot, cls)

    def convert(self, changes: Mapping[str, StateChange]) -> None:
        """Convert the values of states, by name, and write their pages."""

        def change(entry: Entry) -> None:
            for slot, of_slot in changes.items():
                if slot in entry:
                    found = of_slot.apply(entry[slot])
                    if found is None:
                        del entry[slot]
                    else:
                        entry[slot] = found

        self._converted = frozenset(changes)
        self._schemas.add(self._schema)
        self.change_all(change)
        self._remove_dropped()
        self._converted = frozenset()

    def deserialize(self, stored: Stored) -> Entry:
        """Return a fresh entry; big lists, maps and buffers in it are read when they are used.

        Raises:
            CheckpointError: an object in it lacks a field of its class, or has none.
        """
        entry: Entry
        try:
            if isinstance(stored, bytes):
                found: Any = self.loads(stored)
                entry = self._unpack(found) if type(found) is tuple else found
                if _OF_A_CLASS in stored:
                    check_fields(self._owner, entry)
                return entry
            rest, refs = stored
            entry = self.loads(self._record("e", rest) if isinstance(rest, int) else rest)
            for slot, ref in refs.items():
                if ref[0] == "l":
                    entry[slot] = ChunkedList(self._store, ref, self._page_bytes, self.loads)
                elif ref[0] == "m":
                    entry[slot] = BucketedMap(self._store, ref, self._page_bytes, self.loads)
                elif ref[0] == "b":
                    entry[slot] = ChunkedTimes(self._store, ref, self._page_bytes, self.loads)
                else:
                    entry[slot] = self.loads(self._record("v", ref[1]))
        except CLASS_ERRORS as error:
            raise unreadable_error(self._owner, error) from error
        check_fields(self._owner, entry)
        return entry

    def copy(self, stored: Stored) -> Entry:
        """Return a fresh entry of which nothing else is remembered."""
        before = {*self._read}
        entry = self.deserialize(stored)
        for id_ in self._read.keys() - before:
            del self._read[id_]
        return entry

    def values_of(self, slot: str) -> Iterator[tuple[Any, Any]]:
        """Yield every key with the value of the only slot, to be read only."""
        for page in self._each_page():
            if page.live or [name for name, _ in self._schema] != [slot]:
                for key in [*{**page.plain, **page.packed, **page.live}]:
                    if self._has_value(page, key):
                        yield key, self.fetch(key)[slot]
            else:
                yield from page.plain.items()
                for key, stored in page.packed.items():
                    yield key, self.copy(stored)[slot]

    def remove_all(self) -> None:
        """Remove every entry, and its separate records, from the store at once."""
        for page in self._each_page():
            for stored in page.packed.values():
                self.discard(stored)
        self.clear()
        self._remove_dropped()

    def discard(self, stored: Stored) -> None:
        """Remove the records of a deleted entry, unless another entry has taken them over."""
        if isinstance(stored, tuple):
            rest, refs = stored
            for ref in refs.values():
                self._dropped[ref[1]] = ref
            if isinstance(rest, int):
                self._dropped[rest] = ("e", rest)

    def spill_large(self, page: Page) -> bool:
        """Move entries out of the page that are stored plain and are too large, such as texts."""
        limit = SPILL_PAGES * self._page_bytes
        big = [key for key, value in page.plain.items() if len(pickle.dumps(value, 5)) > limit]
        for key in big:
            page.packed[key] = self.serialize(key, self.expanded(page.plain.pop(key)), None)
        return bool(big)

    def write_back(self) -> None:
        """Write the live values to their pages, and remove unused separate records."""
        super().write_back()
        self._remove_dropped()  # what is settled again gets other records

    def flush(self) -> None:
        """Write the changed pages, and remove unused separate records."""
        super().flush()
        self._remove_dropped()

    def _remove_dropped(self) -> None:
        for id_, ref in self._dropped.items():
            if id_ in self._kept:
                continue
            if ref[0] == "l":
                remove_list(self._store, ref)
            elif ref[0] == "m":
                remove_map(self._store, ref)
            elif ref[0] == "b":
                remove_times(self._store, ref)
            else:
                self._store.remove(f"{ref[0]}{id_}")
        self._read.clear()
        self._kept.clear()
        self._dropped.clear()

    def _spill(self, entry: Entry, old: Stored | None) -> Stored:
        old_rest, old_refs = old if isinstance(old, tuple) else (None, {})
        rest: Entry = {}
        refs: dict[Any, tuple[Any, ...]] = {}
        for slot, value in entry.items():
            ref, rest[slot] = self._store_value(slot, value, old_refs.get(slot))
            if ref is not None:
                refs[slot] = ref
                self._kept.add(ref[1])
        if old is not None:
            self.discard(old)
        data = pickle.dumps(rest, 5)
        if len(data) > SPILL_PAGES * self._page_bytes:
            return (
                self._write_record("e", data, old_rest if isinstance(old_rest, int) else None),
                refs,
            )
        return (data, refs) if refs else data

    def _store_value(
        self, slot: Any, value: Any, old: tuple[Any, ...] | None
    ) -> tuple[tuple[Any, ...] | None, Any]:
        """Store a large value outside its page; return (reference or None, the inline value)."""
        declared = self._kinds.get(slot[0] if isinstance(slot, tuple) else slot)
        kind = None if declared is None else declared.layout
        # One record belongs to one slot: whoever shares it gets a copy.
        if isinstance(value, ChunkedList):
            if kind in ("list", None) and value.id not in self._kept:
                return value.flush(), None
            value = [*value]
        elif isinstance(value, BucketedMap):
            if kind in ("map", None) and value.id not in self._kept:
                ref = value.flush()
                if value.size_bytes > self._page_bytes // 2:
                    return ref, None
                inline = dict(value.items())
                value.clear()
                value = inline
            else:
                value = dict(value.items())
        elif isinstance(value, ChunkedTimes):
            if kind in ("times", None) and value.id not in self._kept:
                if value.is_chunked:
                    return value.flush(), None
                value = value.tail()
            else:
                value = TimeBuffer(*map(list, zip(*value, strict=True)))
        data = pickle.dumps(value, 5)
        if len(data) <= self._page_bytes:
            return None, value
        if kind == "list" and type(value) is list:
            chunked = ChunkedList.of(value, self._store, self._new_id(), self._page_bytes)
            return chunked.flush(), None
        if kind == "map" and type(value) is dict:
            bucketed = BucketedMap.of(value, self._store, self._new_id(), self._page_bytes)
            return bucketed.flush(), None
        if kind == "times" and type(value) is TimeBuffer:
            timed = ChunkedTimes.of(value, self._store, self._new_id(), self._page_bytes)
            return timed.flush(), None
        return ("v", self._write_record("v", data, old[1] if old and old[0] == "v" else None)), None

    def _record(self, letter: str, id_: int) -> bytes:
        data = self._read[id_] = get_required_record(self._store, f"{letter}{id_}")
        return data

    def _write_record(self, letter: str, data: bytes, id_: int | None) -> int:
        """Write a separate record under an id (None: a new one), and return the id."""
        if id_ is None or id_ in self._kept:
            id_ = self._new_id()
        if self._read.get(id_) != data:
            self._store.put(f"{letter}{id_}", data)
        self._kept.add(id_)
        return id_


def _restore_names(stored: Stored, layout: Layout, loads: Loads) -> Stored:
    """Return an entry that was pickled alone, with the names of its states."""
    found = loads(stored) if isinstance(stored, bytes) else None
    return pickle.dumps(unpacker(layout)(found), 5) if type(found) is tuple else stored
