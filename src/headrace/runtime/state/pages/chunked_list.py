"""A list too big for its page: its elements lie in chunks, and appending touches the last one."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import Any

from headrace.runtime.immutability import is_immutable
from headrace.runtime.state.backend import PageStore
from headrace.runtime.state.page import get_required_record
from headrace.runtime.state.stored_objects import Loads

ListRef = tuple[str, int, int, int, int]
"""``("l", record id, chunks, length, bytes of the last chunk)``."""


class ChunkedList:
    """A list stored in chunks, which can be appended to and iterated; replace it to clear it.

    Iterating reads one chunk after another. Only chunks with mutable elements stay in memory until
    ``flush``, so that changes of them are written. If it is copied, or pickled outside its own
    slot, it becomes a plain list.
    """

    __slots__ = (
        "_chunks",
        "_loaded",
        "_loads",
        "_new",
        "_page_bytes",
        "_store",
        "_stored",
        "_tail_bytes",
        "id",
    )

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, store: PageStore, ref: ListRef, page_bytes: int, loads: Loads = pickle.loads
    ) -> None:
        _, self.id, self._chunks, self._stored, self._tail_bytes = ref
        self._loads = loads
        self._store = store
        self._page_bytes = page_bytes
        self._new: list[Any] = []
        self._loaded: dict[int, tuple[list[Any], bytes]] = {}

    @classmethod
    def of(cls, items: list[Any], store: PageStore, id_: int, page_bytes: int) -> ChunkedList:
        """Create a chunked list of ``items``, not written yet."""
        made = cls(store, ("l", id_, 0, 0, 0), page_bytes)
        made._new = items
        return made

    def append(self, item: Any) -> None:
        """Add one element."""
        self._new.append(item)

    def extend(self, items: Iterable[Any]) -> None:
        """Add elements."""
        self._new += [*items]

    def __len__(self) -> int:
        return self._stored + len(self._new)

    def __iter__(self) -> Iterator[Any]:
        for number in range(self._chunks):
            yield from self._get_chunk(number)
        yield from self._new  # sees what is appended meanwhile, as a list's iterator does

    def scan(self) -> Iterator[Any]:
        """Yield the elements, to be read only: chunk by chunk, none of which is kept."""
        for number in range(self._chunks):
            loaded = self._loaded.get(number)
            yield from (
                self._loads(get_required_record(self._store, self._record_name(number)))
                if (loaded is None)
                else loaded[0]
            )
        yield from self._new

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, list | ChunkedList):
            return NotImplemented
        return len(self) == len(other) and all(
            mine == theirs for mine, theirs in zip(self, other, strict=True)
        )

    def __repr__(self) -> str:
        return f"<ChunkedList of {len(self)} elements>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (list, ([*self],))

    def flush(self) -> ListRef:
        """Write all changes; return the reference from which the list is read again."""
        if self._new:
            first, items = self._chunks, self._new
            if first and self._tail_bytes < self._page_bytes:
                first -= 1
                items = self._get_chunk(first) + items
                self._loaded.pop(first, None)
            self._stored += len(self._new)
            self._new = []
            self._write(first, items)
        for number, (items, before) in self._loaded.items():
            data = pickle.dumps(items, 5)
            if data != before:
                self._store.put(self._record_name(number), data)
                if number == self._chunks - 1:
                    self._tail_bytes = len(data)
        self._loaded.clear()
        return ("l", self.id, self._chunks, self._stored, self._tail_bytes)

    def _write(self, first: int, items: list[Any]) -> None:
        """Store items as the last chunks, from number ``first`` on."""
        data = pickle.dumps(items, 5)
        size = len(items)
        if len(data) > 2 * self._page_bytes:
            size = max(1, size * self._page_bytes // len(data))
        for start in range(0, len(items), size):
            if size < len(items):
                data = pickle.dumps(items[start : start + size], 5)
            self._store.put(self._record_name(first), data)
            first += 1
        self._chunks = first
        self._tail_bytes = len(data)

    def _get_chunk(self, chunk_number: int) -> list[Any]:
        loaded = self._loaded.get(chunk_number)
        if loaded is not None:
            return loaded[0]
        data = get_required_record(self._store, self._record_name(chunk_number))
        items: list[Any] = self._loads(data)
        if not all(map(is_immutable, items)):
            self._loaded[chunk_number] = (items, data)
        return items

    def _record_name(self, chunk_number: int) -> str:
        return f"l{self.id}.{chunk_number}"


def remove_list(store: PageStore, ref: ListRef) -> None:
    """Remove every chunk of a stored list."""
    for number in range(ref[2]):
        store.remove(f"l{ref[1]}.{number}")
