"""A priority queue with the order of Java's: equal items come out as they do there.

``heapq`` is no substitute: it orders equal items in another way, and which of two matches that
begin with the same event is found first decides what a skip strategy leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Generic, Protocol, TypeVar


class Ordered(Protocol):
    """What a queue holds."""

    order: Any
    """Compared by ``<``; the smallest comes first."""


T = TypeVar("T", bound=Ordered)


class JavaQueue(Generic[T]):
    """A binary heap; iteration follows the heap's array."""

    __slots__ = ("items",)

    def __init__(self, items: Iterable[T] = ()) -> None:
        own = self.items = [*items]
        for at in range(1, len(own)):
            if own[at].order < own[(at - 1) >> 1].order:
                self._rise(at)

    @classmethod
    def of_array(cls, items: list[T]) -> JavaQueue[T]:
        """Return the queue of which a list is the array."""
        queue: JavaQueue[T] = cls.__new__(cls)
        queue.items = items
        return queue

    def add(self, item: T) -> None:
        """Insert an item."""
        self.items.append(item)
        self._rise(len(self.items) - 1)

    def _rise(self, at: int) -> None:
        items = self.items
        item = items[at]
        order = item.order
        while at > 0:
            parent = (at - 1) >> 1
            above = items[parent]
            if order >= above.order:
                break
            items[at] = above
            at = parent
        items[at] = item

    def peek(self) -> T | None:
        """Return the first item; None if there is none."""
        return self.items[0] if self.items else None

    def poll(self) -> T:
        """Remove and return the first item."""
        items = self.items
        first, last = items[0], items.pop()
        if items:
            self._sink(0, last)
        return first

    def remove_if(self, is_removed: Any) -> None:
        """Remove the items for which ``is_removed`` is true."""
        kept = [item for item in self.items if not is_removed(item)]
        if len(kept) < len(self.items):
            self.items = kept
            for at in range((len(kept) >> 1) - 1, -1, -1):
                self._sink(at, kept[at])

    def _sink(self, at: int, item: T) -> None:
        items, order = self.items, item.order
        half, count = len(items) >> 1, len(items)
        while at < half:
            child = 2 * at + 1
            if child + 1 < count and items[child].order > items[child + 1].order:
                child += 1
            if order <= items[child].order:
                break
            items[at] = items[child]
            at = child
        items[at] = item

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)
