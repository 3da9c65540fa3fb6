"""The values of an operator with a single slot, read directly from pages of entries.

A page of compact entries already is a dictionary from key to value. Using it without an entry per
key halves the cost of a key that occurs only once in a micro-batch
(docs/adr/0010-cost-per-record.md).
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import repeat
from typing import Any

from headrace.runtime.immutability import all_immutable, is_immutable
from headrace.runtime.state.backend import MISSING, Entry, Values
from headrace.runtime.state.page import Page
from headrace.runtime.state.pages.entries import EntryPages

_PART = 16
"""All values of a page are loaded after more single loads than its entries / (this * its scale).

The scale is larger if micro-batches use more keys of a page.
"""


class PagedValues(Values):
    """The values during one call, until ``write_back``. ``slot`` is a value, not a container."""

    __slots__ = ("_asked", "_complete", "_deserialized", "_missing", "_pages", "_slot", "_whole")

    def __init__(self, pages: EntryPages, slot: str) -> None:
        super().__init__()
        self._pages = pages
        self._slot = slot
        self._asked: dict[int, list[Any]] = {}
        """The keys that were loaded one by one, by page number."""
        self._complete = False
        """Whether all values of the table are loaded, and all were stored unpickled."""
        self._whole = False
        """Whether all values of the table are loaded."""
        self._missing: list[Any] = []
        """The keys that were missing when they were loaded in this call."""
        self._deserialized: dict[Any, Entry] = {}
        """The entries that were pickled separately, by key: they may have been changed in place."""

    def absent(self, key: Any) -> Any:
        """Load the value of a key; after several loads from a page, load all of its values."""
        if self._complete or self._whole:
            self.drop(key)
            return MISSING
        pages = self._pages
        number = pages.number_of(key)
        page = pages.page(number)
        value = page.plain.get(key, MISSING)
        if value is MISSING:
            stored = page.packed.get(key)
            if stored is not None:
                entry = self._deserialized[key] = pages.deserialize(stored)
                value = entry.get(self._slot, MISSING)
            else:
                self._missing.append(key)
        self[key] = value
        asked = self._asked.setdefault(number, [])
        asked.append(key)
        if len(asked) == 1 + len(page.plain) // (_PART * pages.table.scale):
            self._complete = pages.table.count == 1 and not page.packed
            current = {known: self[known] for known in asked}
            if len(self) == len(current):
                self.clear()  # Python copies into an empty dictionary without hashing
            self.update(page.plain)
            self.update(current)
        return value

    def read_all(self, keys: Collection[Any], absent: Any) -> list[Any]:
        """Return the values of many keys; if they are many of the table's, load all pages first."""
        if not self._whole and len(keys) * _PART >= self._pages.table.entries:
            self._load_whole()
        if not self._whole:
            return super().read_all(keys, absent)
        found = map(self.get, keys, repeat(absent))
        if not self._missing:
            return [*found]
        return [absent if value is MISSING else value for value in found]

    def _load_whole(self) -> None:
        """Load all values, unless some were pickled separately."""
        pages, current = self._pages, dict(self)
        every = [pages.page(number) for number in range(pages.table.count)]
        if any(page.packed or page.live for page in every):
            return
        self.clear()
        for number, page in enumerate(every):
            self.update(page.plain)
            self._asked.setdefault(number, [])
        self.update(current)
        self._whole, self._complete = True, len(every) == 1

    def drop(self, key: Any) -> None:
        """Remove a key that has a value."""
        self[key] = MISSING
        self._missing.append(key)

    def write_back(self) -> None:
        """Write the changed values to their pages."""
        pages = self._pages
        if self._complete and self._replace_only_page():
            return
        live = dict.fromkeys(self._deserialized)
        pending = pages.changed.difference(live)
        for number in self._asked:
            page = pages.page(number)
            known = page.plain.keys() & pending
            if known:
                pending -= known
                live.update(dict.fromkeys(self._write_values(page, [*known])))
        new: dict[int, list[Any]] = {}
        for key in pending:
            new.setdefault(pages.number_of(key), []).append(key)
        for number, keys in new.items():
            page = pages.page(number)
            live.update(dict.fromkeys(self._write_values(page, keys)))
        self._to_live(live)

    def _replace_only_page(self) -> bool:
        """Replace the table's only page, if many values changed and all can be stored unpickled."""
        page = self._pages.page(0)
        if 4 * len(self._pages.changed) <= len(self) or page.live:
            return False
        plain = dict(self)
        for key in self._missing:
            if plain.get(key) is MISSING:
                del plain[key]
        if not all_immutable(plain.values()):
            return False
        page.plain, page.dirty = plain, True
        return True

    def _write_values(self, page: Page, keys: list[Any]) -> list[Any]:
        """Write values to their page; return the keys whose values must be pickled."""
        values = [*map(self.__getitem__, keys)]
        if page.packed or page.live or not all_immutable(values):
            taken = page.packed.keys() | page.live.keys()
            pairs = [*zip(keys, values, strict=True)]
            odd = [key for key, value in pairs if key in taken or not is_immutable(value)]
            left_out = {*odd}
            page.plain.update(pair for pair in pairs if pair[0] not in left_out)
        else:
            odd = []
            page.plain.update(zip(keys, values, strict=True))
        page.dirty = True
        return odd

    def write_to_entries(self) -> None:
        """Write the changed values to entries, before a caller reads the keys of the pages."""
        self._to_live(dict.fromkeys([*self._deserialized, *self._pages.changed]))

    def _to_live(self, keys: dict[Any, Any]) -> None:
        pages, slot = self._pages, self._slot
        for key in keys:
            entry = dict(self._deserialized.get(key, {}))
            value = self[key]
            if value is MISSING:
                entry.pop(slot, None)
            else:
                entry[slot] = value
            pages.page_of(key).live[key] = entry
