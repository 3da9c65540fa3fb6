"""One page of entries, how pages are counted, and which of them a key falls into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.errors import CheckpointError
from headrace.runtime.state.backend import PageStore

Stored = bytes | tuple[Any, Any]
"""A value that is pickled alone; as a tuple, parts of it lie in records of their own."""


def page_number(hashed: int, count: int) -> int:
    """Return the page of a hash among ``count`` pages, by linear hashing (Litwin, 1980)."""
    mask = (1 << (count - 1).bit_length()) - 1
    number = hashed & mask
    return number if number < count else number & (mask >> 1)


def get_required_record(store: PageStore, name: str) -> bytes:
    """Return the bytes under a name that another record refers to.

    Raises:
        CheckpointError: they are not there.
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
    """How many pages there are and what they hold: bytes and entries.

    ``scale``: how many times as large as usual pages are meant to be. ``excess_cost``: what this
    choice has cost so far beyond the best one, in calls.
    """

    count: int = 1
    size_bytes: int = 0
    entries: int = 0
    scale: int = 1
    excess_cost: int = 0


class Page:
    """A page in memory.

    ``plain`` and ``packed`` are what is stored, ``live`` what was touched since it was loaded
    (``MISSING`` for a removed key). ``size_bytes`` and ``entries`` are those in the store.
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
