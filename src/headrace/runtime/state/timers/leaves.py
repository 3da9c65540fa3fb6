"""Leaves of timers: how they are written, and how a run of timers becomes leaves."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from itertools import groupby, repeat
from operator import itemgetter
from typing import Any

from headrace.common._storage.pickles import loads_of_state
from headrace.runtime.state.backend import PageStore, Timer
from headrace.runtime.state.page import get_required_record

LEAF_TIMERS = 256
"""Adding one timer rewrites a leaf; firing many reads one after the other."""

_timer = partial(tuple.__new__, Timer)  # twice as fast as Timer(...)

Leaves = tuple[list[int], list[int], dict[int, tuple[int, int]]]
"""A directory: first times (ms), ids, and for wide leaves id to ``(buckets, timers)``."""

Item = tuple[int, int, Timer]
"""Time (ms), order of registration, timer."""

Place = tuple[int, int]
"""Leaf id and bucket; the bucket of a narrow leaf is 0."""


class LeafStore:
    """Reads and writes leaves."""

    __slots__ = ("_letter", "_loads", "_store", "hash_of", "new_id")

    def __init__(
        self,
        store: PageStore,
        letter: str,
        hash_of: Callable[[Any], int],
        new_id: Callable[[], int],
    ) -> None:
        self._store = store
        self._letter = letter
        self._loads = loads_of_state()
        self.hash_of = hash_of
        self.new_id = new_id

    def read(self, place: Place, wide: bool) -> list[Item]:
        """Return the timers of a leaf, or of a bucket of a large leaf, in order."""
        name = f"{self._letter}{place[0]}.{place[1]}"
        # An empty bucket of a wide leaf has no record; a narrow leaf is never empty.
        data = self._store.get(name) if wide else get_required_record(self._store, name)
        if data is None:
            return []
        times, keys, namespaces, orders = self._loads(data)
        if isinstance(times, int):
            times = [times] * len(keys)
        timers = map(_timer, zip(times, keys, namespaces or repeat(None), strict=False))
        return list(zip(times, orders, timers, strict=True))

    def put(self, place: Place, items: list[Item]) -> None:
        """Store timers, which are in order; none: remove the record."""
        name = f"{self._letter}{place[0]}.{place[1]}"
        if not items:
            self._store.remove(name)
            return
        same: dict[Any, Any] = {}  # equal windows are pickled once
        namespaces = [item[2].namespace for item in items]
        leaf = (
            items[0][0] if items[0][0] == items[-1][0] else [item[0] for item in items],
            [item[2].key for item in items],
            [same.setdefault((type(space), space), space) for space in namespaces]
            if any(space is not None for space in namespaces)
            else None,
            [item[1] for item in items],
        )
        self._store.put(name, pickle.dumps(leaf, 5))

    def put_wide(self, items: list[Item]) -> tuple[int, tuple[int, int]]:
        """Store the timers of one time as a new wide leaf; return id and (buckets, timers)."""
        id_ = self.new_id()
        buckets = -(-len(items) // LEAF_TIMERS)
        for bucket, part in self.group_by_bucket(items, buckets).items():
            self.put((id_, bucket), part)
        return id_, (buckets, len(items))

    def group_by_bucket(self, items: list[Item], buckets: int) -> dict[int, list[Item]]:
        """Return timers by bucket, in order in each."""
        parts: dict[int, list[Item]] = {}
        for item in items:
            parts.setdefault(self.hash_of(item[2].key) % buckets, []).append(item)
        return parts

    def get_directory(self) -> Leaves:
        """Return the directory from its own record."""
        leaves: Leaves = pickle.loads(get_required_record(self._store, f"{self._letter}d"))
        return leaves

    def put_directory(self, leaves: Leaves | None) -> None:
        """Store the directory in a separate record; None: remove that record."""
        name = f"{self._letter}d"
        if leaves is None:
            self._store.remove(name)
        else:
            self._store.put(name, pickle.dumps(leaves, 5))


class LeafWriter:
    """Rewrites the directory: existing leaves, and timers that need new leaves."""

    __slots__ = ("_store", "leaves", "run", "spare")

    def __init__(self, store: LeafStore) -> None:
        self._store = store
        self.leaves: Leaves = ([], [], {})
        self.run: list[Item] = []
        self.spare: list[int] = []
        """Ids of narrow leaves that were dissolved."""

    def add(self, first_ms: int, id_: int, wide: tuple[int, int] | None = None) -> None:
        """Append a leaf to the directory; ``wide``: the (buckets, timers) of a wide leaf."""
        firsts, ids, wides = self.leaves
        firsts.append(first_ms)
        ids.append(id_)
        if wide is not None:
            wides[id_] = wide

    def close(self, last: bool) -> None:
        """Write the run as leaves: full ones at the end of time, even ones in the middle."""
        run = self.run
        if not run:
            return
        self.run = []
        target = LEAF_TIMERS
        if not last:
            target = -(-len(run) // -(-len(run) // LEAF_TIMERS))
        leaf: list[Item] = []
        for time_ms, group in groupby(run, key=itemgetter(0)):
            moment = [*group]
            if leaf and (len(leaf) >= target or len(leaf) + len(moment) > LEAF_TIMERS):
                self._write(leaf)
                leaf = []
            if len(moment) > LEAF_TIMERS:
                self.add(time_ms, *self._store.put_wide(moment))
            else:
                leaf += moment
        if leaf:
            self._write(leaf)

    def _write(self, items: list[Item]) -> None:
        id_ = self.spare.pop() if self.spare else self._store.new_id()
        self._store.put((id_, 0), items)
        self.add(items[0][0], id_)
