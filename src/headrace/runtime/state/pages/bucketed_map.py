"""A map too big for its page: its items lie in buckets, and one look-up reads one of them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, ItemsView, Iterator, KeysView, MutableMapping, ValuesView
from typing import Any

from headrace.runtime.immutability import is_immutable
from headrace.runtime.keys.key_groups import stable_hash
from headrace.runtime.state.backend import MISSING, PageStore
from headrace.runtime.state.page import PageTable, Stored
from headrace.runtime.state.pages.hashed import HashedPages
from headrace.runtime.state.stored_objects import Loads

MapRef = tuple[str, int, int, int, int]
"""``("m", record id, buckets, bytes, items)``."""


class BucketPages(HashedPages):
    """The buckets of one map. Its keys have a stable hash."""

    def __init__(
        self, store: PageStore, prefix: str, table: PageTable, page_bytes: int, loads: Loads
    ) -> None:
        super().__init__(store, prefix, table, page_bytes)
        self._loads = loads

    hash_of = staticmethod(stable_hash)

    @staticmethod
    def compact(value: Any) -> Any:
        """Return the value itself, if it is immutable."""
        return value if is_immutable(value) else MISSING

    @staticmethod
    def expanded(stored: Any) -> Any:
        """Return the value itself."""
        return stored

    def read(self, data: bytes) -> tuple[dict[Any, Any], dict[Any, Stored]]:
        """Parse a bucket."""
        plain, packed = self._loads(data)
        return plain, packed

    def serialize(self, key: Any, value: Any, old: Stored | None) -> Stored:
        """Return the value, pickled alone."""
        return pickle.dumps(value, 5)

    def deserialize(self, stored: Stored) -> Any:
        """Return a fresh value."""
        assert isinstance(stored, bytes)
        return self._loads(stored)

    def discard(self, stored: Stored) -> None:
        """Do nothing: values of a map have no records of their own."""


class BucketedMap(MutableMapping[Any, Any]):
    """A dict stored in buckets; it is iterated bucket by bucket, not by insertion.

    While iterating, unused buckets are not kept in memory, and the map may be changed. If it is
    copied, or pickled outside its own slot, it becomes a plain dict.
    """

    __slots__ = ("_length", "_pages", "id")

    def __init__(
        self,
        store: PageStore,
        ref: tuple[Any, ...],
        page_bytes: int,
        loads: Loads = pickle.loads,
    ) -> None:
        _, id_, count, size_bytes, entries = ref
        self.id: int = id_
        table = PageTable(count, size_bytes, entries)
        self._pages = BucketPages(store, f"m{self.id}.", table, page_bytes, loads)
        self._length: int = entries

    @classmethod
    def of(cls, items: dict[Any, Any], store: PageStore, id_: int, page_bytes: int) -> BucketedMap:
        """Create a bucketed map of ``items``, not written yet."""
        made = cls(store, ("m", id_, 1, 0, 0), page_bytes)
        made._pages.set_all(items)
        made._length = len(items)
        return made

    @property
    def size_bytes(self) -> int:
        """The bytes of all buckets at the last flush."""
        return self._pages.table.size_bytes

    def __getitem__(self, key: Any) -> Any:
        value = self._pages.fetch(key)
        if value is MISSING:
            raise KeyError(key)
        return value

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self._pages.put(key, value):
            self._length += 1

    def __delitem__(self, key: Any) -> None:
        if not self._pages.put(key, MISSING):
            raise KeyError(key)
        self._length -= 1

    def __contains__(self, key: object) -> bool:
        return self._pages.contains(key)

    def __iter__(self) -> Iterator[Any]:
        return self._pages.keys()

    def __len__(self) -> int:
        return self._length

    def keys(self) -> KeysView[Any]:
        """Return the keys, bucket by bucket."""
        return KeysView(self)

    def items(self) -> ItemsView[Any, Any]:
        """Return the items, bucket by bucket."""
        return _Items(self, self._pages.items)

    def values(self) -> ValuesView[Any]:
        """Return the values, bucket by bucket."""
        return _Values(self, self._pages.items)

    def scan(self) -> Iterator[tuple[Any, Any]]:
        """Return the items, to be read only: bucket by bucket, none of which is kept."""
        return self._pages.scan()

    def clear(self) -> None:
        """Remove everything."""
        self._pages.clear()
        self._length = 0

    def __repr__(self) -> str:
        return f"<BucketedMap of {self._length} items>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (dict, ([*self._pages.items()],))

    def flush(self) -> MapRef:
        """Write all changes; return the reference from which the map is read again."""
        self._pages.flush()
        table = self._pages.table
        return ("m", self.id, table.count, table.size_bytes, table.entries)


class _Items(ItemsView[Any, Any]):
    """Streams the items instead of looking each key up again."""

    __slots__ = ("_stream",)

    def __init__(self, owner: BucketedMap, stream: Callable[[], Iterator[tuple[Any, Any]]]) -> None:
        super().__init__(owner)
        self._stream = stream

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return self._stream()


class _Values(ValuesView[Any]):
    """Streams the values instead of looking each key up again."""

    __slots__ = ("_stream",)

    def __init__(self, owner: BucketedMap, stream: Callable[[], Iterator[tuple[Any, Any]]]) -> None:
        super().__init__(owner)
        self._stream = stream

    def __iter__(self) -> Iterator[Any]:
        return (value for _, value in self._stream())


def remove_map(store: PageStore, ref: MapRef) -> None:
    """Remove every bucket of a stored map."""
    for number in range(ref[2]):
        store.remove(f"m{ref[1]}.{number}")
