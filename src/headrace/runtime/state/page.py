"""One page of entries, how pages are counted, and which of them a key falls into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.errors import CheckpointError
from headrace.runtime.state.backend import PageStore

Stored = bytes | tuple[Any, Any]
"""A value pickled alone; a tuple if parts of it are stored in separate records."""


def page_number(hashed: int, count: int) -> int:
    """Return the page of a hash among ``count`` pages, by linear hashing (Litwin, 1980)."""
    mask = (1 << (count - 1).bit_length()) - 1
    number = hashed & mask
    return number if number < count else number & (mask >> 1)


def get_required_record(store: PageStore, name: str) -> bytes:
    """Return the bytes under a name that another record refers to.

    Raises:
        CheckpointError: the store does not have the record.
    """
    data = store.get(name)
    if data is None:
        raise CheckpointError(
            "a record of the keyed state is missing",
            where={"record": name},
            hint="the checkpoint is damaged: put a copy of it in its place, or start anew with"
            " headrace run --fresh",
        )
    return data


@dataclass(slots=True)
class PageTable:
    """The number of pages, and what they contain: bytes and entries.

    ``scale``: the page size, as a multiple of the normal one. ``excess_cost``: by how much this
    choice has been more expensive than the best one so far, in calls of the store.
    """

    count: int = 1
    size_bytes: int = 0
    entries: int = 0
    scale: int = 1
    excess_cost: int = 0


class Page:
    """A page in memory.

    ``plain`` and ``packed``: the stored values. ``live``: the values that were used since it was
    loaded (``MISSING``: removed). ``size_bytes`` and ``entries``: those in the store.
    """

    __slots__ = ("dirty", "entries", "live", "packed", "plain", "size_bytes")

    def __init__(self) -> None:
        self.plain: dict[Any, Any] = {}
        self.packed: dict[Any, Stored] = {}
        self.live: dict[Any, Any] = {}
        self.size_bytes = 0
        self.entries = 0
        self.dirty = False


def stored_size(stored: Stored) -> int:
    """Return the bytes that a stored value takes in its page; an estimate for references."""
    if isinstance(stored, bytes):
        return len(stored)
    data, refs = stored
    size = (len(data) if isinstance(data, bytes) else 8) + 64 * len(refs)
    return size + sum(len(ref[2]) for ref in refs.values() if ref[0] == "b")
