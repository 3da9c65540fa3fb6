"""The linker's state for one instrument, behind an interface that keyed state can implement."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from headrace.demo.trades.events import NormalisedEvent
from headrace.demo.trades.hierarchy import Hierarchy

K = TypeVar("K")
V = TypeVar("V")
K_contra = TypeVar("K_contra", contravariant=True)


class Table(Protocol[K_contra, V]):
    """A map that is accessed by key only."""

    def get(self, key: K_contra) -> V | None:
        """Return the value, or None."""

    def put(self, key: K_contra, value: V) -> None:
        """Set the value."""

    def remove(self, key: K_contra) -> None:
        """Remove the key, which may be missing."""


class Cell(Protocol[V]):
    """One value."""

    def value(self) -> V | None:
        """Return the value, or None."""

    def update(self, value: V) -> None:
        """Set the value."""


@dataclass(slots=True)
class Due:
    """What to do when event time reaches a deadline."""

    references: list[str] = field(default_factory=list)
    event_ids: list[str] = field(default_factory=list)
    roots: list[str] = field(default_factory=list)


# An order: the root of its hierarchy, and its first id.
OrderKey = tuple[str, str]


@dataclass(frozen=True)
class Book:
    """The state of one instrument."""

    hierarchies: Table[str, Hierarchy]
    """By the root's first id."""
    orders: Table[str, OrderKey]
    """By any id of an order's chain."""
    executions: Table[str, OrderKey]
    """By execution id: the order executed."""
    waiting: Table[str, list[NormalisedEvent]]
    """By the reference waited for, ``order ID`` or ``execution ID``."""
    seen: Table[str, int]
    """By event id: its event time."""
    due: Table[int, Due]
    """By deadline."""
    deadlines: Cell[list[int]]
    """The keys of ``due``, ascending."""


class MemoryTable(Generic[K, V]):
    """A table in memory."""

    def __init__(self) -> None:
        self.entries: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """Return the value, or None."""
        return self.entries.get(key)

    def put(self, key: K, value: V) -> None:
        """Set the value."""
        self.entries[key] = value

    def remove(self, key: K) -> None:
        """Remove the key, which may be missing."""
        self.entries.pop(key, None)


class MemoryCell(Generic[V]):
    """A value in memory."""

    def __init__(self) -> None:
        self._value: V | None = None

    def value(self) -> V | None:
        """Return the value, or None."""
        return self._value

    def update(self, value: V) -> None:
        """Set the value."""
        self._value = value


def memory_book() -> Book:
    """Return an empty book in memory."""
    return Book(
        hierarchies=MemoryTable(),
        orders=MemoryTable(),
        executions=MemoryTable(),
        waiting=MemoryTable(),
        seen=MemoryTable(),
        due=MemoryTable(),
        deadlines=MemoryCell(),
    )
