"""Lists and maps in accumulators. Here they are kept with the accumulator, as other values are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

__all__ = ["DataView", "ListView", "MapView"]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class DataView(ABC):
    """A collection in the accumulator of an aggregate function."""

    @abstractmethod
    def clear(self) -> None:
        """Remove everything."""


class ListView(DataView, Generic[T]):
    """A list in an accumulator."""

    def __init__(self) -> None:
        self._list: list[T] = []

    def get(self) -> Iterable[T]:
        """Return the values."""
        return self._list

    def add(self, value: T) -> None:
        """Add a value at the end."""
        self._list.append(value)

    def add_all(self, values: Iterable[T]) -> None:
        """Add values at the end."""
        self._list.extend(values)

    def clear(self) -> None:
        """Remove all values."""
        self._list = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListView) and self._list == other._list

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[T]:
        return iter(self._list)

    def __repr__(self) -> str:
        return f"ListView({self._list!r})"


class _MapIterator(Iterator[T]):
    """Iterates over the contents that a map had at the start; keys may be removed meanwhile."""

    def __init__(self, of: dict[Any, Any], values: Iterable[T]) -> None:
        self._dict = of
        self._pairs = iter([*zip([*of], values, strict=True)])
        self._removable: list[Any] = []

    def __next__(self) -> T:
        key, value = next(self._pairs)
        self._removable = [key]
        return value

    def remove(self) -> None:
        """Remove the last key from the map.

        Raises:
            RuntimeError: there is none, or it was removed.
        """
        if not self._removable:
            raise RuntimeError("remove() needs a next() before it")
        self._dict.pop(self._removable.pop(), None)


class MapView(DataView, Generic[K, V]):
    """A dict in an accumulator."""

    def __init__(self) -> None:
        self._dict: dict[K, V] = {}

    def get(self, key: K) -> V:
        """Return the value of a key.

        Raises:
            KeyError: there is none.
        """
        return self._dict[key]

    def put(self, key: K, value: V) -> None:
        """Set the value of a key."""
        self._dict[key] = value

    def put_all(self, dict_value: dict[K, V]) -> None:
        """Set the values of keys."""
        self._dict.update(dict_value)

    def remove(self, key: K) -> None:
        """Remove a key.

        Raises:
            KeyError: there is none.
        """
        del self._dict[key]

    def contains(self, key: K) -> bool:
        """Return whether a key has a value."""
        return key in self._dict

    def items(self) -> Iterator[tuple[K, V]]:
        """Return an iterator of keys with their values; its ``remove()`` removes the last one."""
        return _MapIterator(self._dict, self._dict.items())

    def keys(self) -> Iterator[K]:
        """Return an iterator of the keys; its ``remove()`` removes the last one."""
        return _MapIterator(self._dict, self._dict)

    def values(self) -> Iterator[V]:
        """Return an iterator of the values; its ``remove()`` removes the last one's key."""
        return _MapIterator(self._dict, self._dict.values())

    def is_empty(self) -> bool:
        """Return whether there is no key."""
        return not self._dict

    def clear(self) -> None:
        """Remove all keys."""
        self._dict.clear()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MapView) and self._dict == other._dict

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, key: K) -> V:
        return self.get(key)

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)

    def __contains__(self, key: Any) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return self.keys()

    def __repr__(self) -> str:
        return f"MapView({self._dict!r})"
