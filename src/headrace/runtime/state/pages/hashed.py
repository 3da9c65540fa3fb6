"""A mapping kept in pages of a store: whole pages are read and written, so calls are few.

Keys find their page by linear hashing, so pages split one by one as the mapping grows. Values
that nobody can change any more lie in their page as they are; every other value is pickled
alone, so that reading one never decodes its neighbours and no object is shared between keys.
"""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any

from headrace.runtime.state.backend import MISSING, PageStore
from headrace.runtime.state.page import (
    Page,
    PageTable,
    Stored,
    page_number,
    stored_size,
)

PAGE_ENTRIES = 256
"""Entries are so small at times that reading them costs more than the call: bytes are not all."""

_SAMPLED = 128
_KEY_BYTES = 16
_SCALES = (1, 2, 4, 8, 16)


def call_cost(scale: int, pages: float, keys: int) -> float:
    """Return the cost of reading ``keys`` keys; a call costs 1, and so does a normal page.

    ``pages``: how many there would be at the usual size; ``scale``: how many times as large they
    are. Large pages are cheap where every page is touched anyway, small ones where few are.
    """
    count = max(pages / scale, 1.0)
    return count * (1 - (1 - 1 / count) ** keys) * (1 + min(scale, pages))


class HashedPages(ABC):
    """A mapping stored in pages by hash, which are read when needed and written by ``flush``.

    Subclasses implement ``serialize``, ``deserialize`` and ``discard``.
    """

    drops_empty = False
    """True when a false value (an empty entry) is the same as none."""

    def __init__(
        self,
        store: PageStore,
        prefix: str,
        table: PageTable,
        page_bytes: int,
        changed: set[Any] | None = None,
    ) -> None:
        self.table = table
        self.changed: set[Any] = set() if changed is None else changed
        """The keys whose values were replaced or reported as changed since the last flush."""
        self._store = store
        self._prefix = prefix
        self._page_bytes = page_bytes
        self._pages: dict[int, Page] = {}
        self._set_count(table.count)

    hash_of: Callable[[Any], int]
    """Gives the hash that chooses a key's page."""

    compact: Callable[[Any], Any]
    """Returns the compact form of a value, or ``MISSING`` for one that is pickled alone."""

    expanded: Callable[[Any], Any]
    """Returns the live value of a compact form: a new object, if it is mutable."""

    adapts = False
    """True when the size of pages follows how many of their keys a micro-batch touches."""

    watched = False
    """True when compact values can be changed without a report: what was read is compared."""

    @abstractmethod
    def serialize(self, key: Any, value: Any, old: Stored | None) -> Stored:
        """Return the stored form of a key's value, which replaces ``old``."""

    @abstractmethod
    def deserialize(self, stored: Stored) -> Any:
        """Return the live value, a fresh object."""

    @abstractmethod
    def discard(self, stored: Stored) -> None:
        """Release records that the stored value of a removed key refers to; called by ``flush``."""

    def read(self, data: bytes) -> tuple[dict[Any, Any], dict[Any, Stored]]:
        """Parse a page; return its compact values and its pickled ones, by key."""
        plain, packed = pickle.loads(data)
        return plain, packed

    def serialize_page(self, page: Page) -> bytes:
        """Return a page's bytes."""
        return pickle.dumps((page.plain, page.packed), 5)

    def spill_large(self, page: Page) -> bool:
        """Move too large values out of an encoded page; return True if one was moved."""
        return False

    def fetch(self, key: Any, absent: Any = MISSING) -> Any:
        """Return the live value of a key: the same object until ``flush``.

        If the key is missing, ``absent`` is inserted and returned.
        """
        page = self.page_of(key)
        live = page.live
        if key in live:
            return live[key]
        value = page.plain.get(key, MISSING)
        if value is not MISSING:
            value = self.expanded(value)
        else:
            stored = page.packed.get(key)
            if stored is not None:
                value = self.deserialize(stored)
            elif absent is MISSING:
                return MISSING
            else:
                value = absent
        live[key] = value
        return value

    def put(self, key: Any, value: Any) -> bool:
        """Set a value, or remove it (``MISSING``). Return whether there was one before."""
        page = self.page_of(key)
        before = self._has_value(page, key)
        if before or value is not MISSING:
            page.live[key] = value
            self.changed.add(key)
        return before

    def contains(self, key: Any) -> bool:
        """Return True if the key has a value."""
        return self._has_value(self.page_of(key), key)

    def keys(self) -> Iterator[Any]:
        """Yield every key, page by page; pages of which nothing is touched are not kept."""
        for page in self._each_page():
            for key in [*{**page.plain, **page.packed, **page.live}]:
                if self._has_value(page, key):
                    yield key

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Yield every key and value; values that can be changed are live afterwards."""
        for page in self._each_page():
            for key in [*{**page.plain, **page.packed, **page.live}]:
                if not self._has_value(page, key):
                    continue
                value = MISSING if key in page.live else page.plain.get(key, MISSING)
                live = value is MISSING or self.watched
                yield key, self.fetch(key) if live else self.expanded(value)

    def scan(self) -> Iterator[tuple[Any, Any]]:
        """Yield every key and value, read-only; pages that were not loaded are not kept."""
        for page in self._each_page():
            for key in [*{**page.plain, **page.packed, **page.live}]:
                if not self._has_value(page, key):
                    continue
                value = page.live.get(key, MISSING)
                if value is MISSING:
                    stored = page.packed.get(key)
                    value = self.expanded(page.plain[key]) if stored is None else self.copy(stored)
                yield key, value

    def copy(self, stored: Stored) -> Any:
        """Return a fresh object of which nothing else is remembered."""
        return self.deserialize(stored)

    def clear(self) -> None:
        """Remove everything, also from the store, at once."""
        for number in range(self.table.count):
            self._store.remove(f"{self._prefix}{number}")
        self._pages.clear()
        self.changed.clear()
        self.table = PageTable()
        self._set_count(1)

    def set_all(self, values: dict[Any, Any]) -> None:
        """Set the values of a new mapping that has no pages yet."""
        for key in values:
            self.page_of(key).live[key] = values[key]
        self.changed.update(values)

    def write_back(self) -> None:
        """Put the live values into their pages; objects handed out before count no more."""
        for page in self._pages.values():
            self._settle(page)
            page.live.clear()

    def flush(self) -> None:
        """Write the pages that changed, after splitting or merging as their number demands."""
        before, touched = self.table.entries, len(self.changed)
        dirty = []
        for page in self._pages.values():
            if page.live:
                self._settle(page)
            if page.dirty:
                dirty.append(page)
                self.table.entries += len(page.plain) + len(page.packed) - page.entries
        if dirty:
            self._resize(self._weigh(dirty, before), touched)
            self._write()
        self._pages.clear()
        self.changed.clear()

    def _settle(self, page: Page) -> None:
        """Convert the live values of a page to stored values."""
        changed, plain, packed = self.changed, page.plain, page.packed
        compact, drops_empty = self.compact, self.drops_empty
        for key, value in page.live.items():
            old, reported = packed.get(key), key in changed
            if not reported and old is None and self._is_unchanged(page, key, value):
                continue
            if value is MISSING or (drops_empty and not value):
                if plain.pop(key, MISSING) is not MISSING:
                    page.dirty = True
                elif old is not None:
                    del packed[key]
                    self.discard(old)
                    page.dirty = True
                continue
            pickled = type(old) is tuple or (old is not None and not reported)
            lean = MISSING if pickled else compact(value)
            if lean is not MISSING:
                plain[key] = lean
                if old is not None:
                    del packed[key]
                page.dirty = True
            else:
                new = self.serialize(key, value, old)
                if new != old:
                    plain.pop(key, None)
                    packed[key] = new
                    page.dirty = True

    def _is_unchanged(self, page: Page, key: Any, value: Any) -> bool:
        """Return False if a value has changed although no change was reported."""
        return not self.watched or key not in page.plain or self.compact(value) == page.plain[key]

    def _weigh(self, dirty: list[Page], entries_before: int) -> int:
        """Return the bytes that all pages will have; estimated where sizes are not known yet."""
        size_bytes = self.table.size_bytes
        if self.table.entries <= entries_before:
            return size_bytes * self.table.entries // max(1, entries_before)
        plain_count = sum(len(page.plain) for page in dirty)
        if plain_count:
            every = chain.from_iterable(page.plain.items() for page in dirty)
            sample = dict(islice(every, 0, None, 1 + plain_count // _SAMPLED))
            size_bytes += len(pickle.dumps(sample, 5)) * plain_count // len(sample)
        for page in dirty:
            size_bytes += _KEY_BYTES * len(page.packed) - page.size_bytes
            size_bytes += sum(map(stored_size, page.packed.values()))
        return size_bytes

    def _resize(self, size_bytes: int, touched: int) -> None:
        table = self.table
        if not table.entries:
            self._set_count(1)  # every page is empty, so there is nothing to merge
            table.scale, table.excess_cost = 1, 0
            return
        scale, entries = table.scale, table.entries
        if self.adapts:
            self._choose_grain(max(size_bytes / self._page_bytes, entries / PAGE_ENTRIES), touched)
        wanted = min(-(-size_bytes // (self._page_bytes * table.scale)), entries)
        wanted = max(1, wanted, entries // (PAGE_ENTRIES * table.scale))
        old = table.count
        if wanted > old:
            self._rehash({page_number(new, old) for new in range(old, wanted)}, wanted)
        elif wanted * 4 < old or (wanted < old and table.scale > scale):
            if table.scale == scale:
                wanted *= 2
            gone = range(wanted, old)
            self._rehash({*gone, *(page_number(number, wanted) for number in gone)}, wanted)

    def _choose_grain(self, pages: float, keys: int) -> None:
        """Change the page size once its excess cost has reached the cost of the change."""
        table = self.table
        now = call_cost(table.scale, pages, keys)
        best = min(_SCALES, key=lambda scale: call_cost(scale, pages, keys))
        table.excess_cost += round(now - call_cost(best, pages, keys)) if best != table.scale else 0
        # Pages that are here and dirty are written in any case.
        idle = table.count - sum(page.dirty for page in self._pages.values())
        if best != table.scale and table.excess_cost >= idle * (1 + table.scale):
            table.scale, table.excess_cost = best, 0

    def _rehash(self, affected: Iterable[int], count: int) -> None:
        """Redistribute the entries of some pages to ``count`` pages."""
        old_count = self.table.count
        pages = [(number, self.page(number)) for number in sorted(affected)]
        self._set_count(count)
        mask = self._mask
        hash_of, every = self.hash_of, self._pages
        for number, page in pages:
            plain, packed = page.plain, page.packed
            page.plain, page.packed = {}, {}
            moved = False
            for key in chain(plain, packed):
                hashed = hash_of(key)
                target = hashed & mask
                if target >= count:
                    target = hashed & (mask >> 1)
                goal = every.get(target)
                if goal is None:
                    # Pages from the old count on have never been written.
                    goal = Page() if target >= old_count else self.page(target)
                    every[target] = goal
                if key in plain:
                    goal.plain[key] = plain[key]
                else:
                    goal.packed[key] = packed[key]
                if target != number:
                    moved = goal.dirty = True
            page.dirty |= moved

    def _write(self) -> None:
        for number, page in self._pages.items():
            if page.dirty:
                self._write_page(number, page)

    def _write_page(self, number: int, page: Page) -> None:
        store, table = self._store, self.table
        size_bytes = 0
        if page.plain or page.packed:
            data = self.serialize_page(page)
            if len(data) > 4 * self._page_bytes * table.scale and self.spill_large(page):
                data = self.serialize_page(page)
            store.put(f"{self._prefix}{number}", data)
            size_bytes = len(data)
        elif page.size_bytes:
            store.remove(f"{self._prefix}{number}")
        table.size_bytes += size_bytes - page.size_bytes

    def change_all(self, change: Callable[[Any], None]) -> None:
        """Change every value in place; pages that were not loaded are written at once."""
        for number in range(self.table.count):
            is_loaded = number in self._pages
            page = self.page(number)
            keys = [key for key in {**page.plain, **page.packed} if self._has_value(page, key)]
            for key in keys:
                change(self.fetch(key))
            self.changed.update(keys)
            if is_loaded:
                continue
            self._settle(page)
            self.table.entries += len(page.plain) + len(page.packed) - page.entries
            self._write_page(number, page)
            self.changed.difference_update(keys)
            del self._pages[number]

    def _set_count(self, count: int) -> None:
        self.table.count = count
        self._mask = (1 << (count - 1).bit_length()) - 1

    def page_of(self, key: Any) -> Page:
        """Return the page that a key falls into."""
        number = self.number_of(key)
        page = self._pages.get(number)
        return self.page(number) if page is None else page

    def number_of(self, key: Any) -> int:
        """Return the number of the page that a key falls into."""
        number = self.hash_of(key) & self._mask
        return number if number < self.table.count else number & (self._mask >> 1)

    def page(self, number: int) -> Page:
        """Return a page; read it if it is not loaded."""
        page = self._pages.get(number)
        if page is None:
            page = self._pages[number] = Page()
            # Without entries nothing is stored: the first call of a group asks for nothing.
            data = self._store.get(f"{self._prefix}{number}") if self.table.entries else None
            if data is not None:
                page.plain, page.packed = self.read(data)
                page.size_bytes = len(data)
                page.entries = len(page.plain) + len(page.packed)
        return page

    def _each_page(self) -> Iterator[Page]:
        for number in range(self.table.count):
            page = self.page(number)
            yield page
            if not page.live and not page.dirty:
                self._pages.pop(number, None)

    def _has_value(self, page: Page, key: Any) -> bool:
        value = page.live.get(key, page)
        if value is page:
            return key in page.plain or key in page.packed
        return value is not MISSING and not (self.drops_empty and not value)
