"""Timers in ordered leaves of a store: a call with nothing due reads none of them.

A leaf holds up to ``LEAF_TIMERS`` timers of a span of time, in order. The timers of one moment
that fill more than a leaf (every key's timer at the end of a window) become a **wide** leaf:
buckets by hash of the key, so that asking whether a key's timer exists reads one bucket.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from itertools import chain
from operator import itemgetter

from headrace.runtime.state.backend import Timer, TimerStore
from headrace.runtime.state.timers.leaves import (
    LEAF_TIMERS,
    Item,
    LeafStore,
    LeafWriter,
    Leaves,
    Place,
)

_INLINE_LEAVES = 128
"""A directory of more leaves is stored in a separate record, not in the header."""

TimerState = tuple[int, int, Leaves | None] | None
"""For the header: earliest time (ms), next order, the directory if inline. None: no timers."""


class TimerPages(TimerStore):
    """The timers of one clock and one key group, stored in pages; ``flush`` writes changes."""

    def __init__(self, leaves: LeafStore, stored: Callable[[], TimerState]) -> None:
        self._leaves = leaves
        self._read_state: Callable[[], TimerState] | None = stored
        self._state: TimerState = None
        self._order = 0
        self._floor: int | None = None
        """The earliest time among the timers that are not loaded."""
        self._firsts: list[int] | None = None  # None: the directory is not read yet
        self._ids: list[int] = []
        self._wide: dict[int, tuple[int, int]] = {}
        self._live: dict[Timer, int] = {}
        self._heap: list[Item] = []
        self._ready: list[Item] = []
        """Loaded because they were due, latest first: popping is cheaper than from the heap."""
        self._loaded: dict[Place, int] = {}
        """(leaf id, bucket) to how many timers it held when it was read."""
        self._clean: set[Place] = set()
        self._loaded_timers: dict[int, int] = {}  # the same by leaf id
        self._loose = False

    def register(self, timer: Timer) -> None:
        live = self._live
        if timer in live:
            return
        place = self._load_place(timer)
        if timer in live:
            return
        if place is None:
            self._loose = True
        else:
            self._clean.discard(place)
        order = self._order
        self._order = order + 1
        live[timer] = order
        heapq.heappush(self._heap, (timer.time_ms, order, timer))

    def delete(self, timer: Timer) -> None:
        if timer not in self._live:
            self._load_place(timer)
        if self._live.pop(timer, None) is not None:
            self._mark_changed(timer)
            if len(self._heap) + len(self._ready) > 2 * len(self._live) + LEAF_TIMERS:
                self._remove_deleted()

    def earliest_ms(self) -> int | None:
        item = self._peek()
        if item is None or (self._floor is not None and self._floor < item[0]):
            return self._floor
        return item[0]

    def pop_due(self, time_ms: int) -> Timer | None:
        item = self._peek()
        floor = self._floor
        while floor is not None and floor <= time_ms and (item is None or item[0] >= floor):
            self._load_first()
            item = self._peek()
            floor = self._floor
        if item is None or item[0] > time_ms:
            return None
        if self._ready and self._ready[-1] is item:
            self._ready.pop()
        else:
            heapq.heappop(self._heap)
        timer = item[2]
        del self._live[timer]
        if self._clean:
            self._mark_changed(timer)
        return timer

    def scan(self) -> Iterator[tuple[int, Timer]]:
        """Yield every timer with its order of registration, as they will fire, leaf by leaf."""
        live = sorted((timer[0], order, timer) for timer, order in self._live.items())
        firsts = self._load_directory()
        start = 0
        for index, id_ in enumerate(self._ids):
            end = len(live)
            if index + 1 < len(firsts):
                end = bisect_left(live, firsts[index + 1], start, key=itemgetter(0))
            items = live[start:end]
            start = end
            for bucket in range(self._wide.get(id_, (1, 0))[0]):
                if (id_, bucket) not in self._loaded:
                    items += self._leaves.read((id_, bucket), id_ in self._wide)
            for _, order, timer in sorted(items):
                yield order, timer
        for _, order, timer in live[start:]:
            yield order, timer

    def _remove_deleted(self) -> None:
        """Forget deleted timers, which are the majority of those in memory."""
        live = self._live
        self._heap = [item for item in self._heap if live.get(item[2]) == item[1]]
        heapq.heapify(self._heap)
        self._ready = [item for item in self._ready if live.get(item[2]) == item[1]]

    def flush(self) -> TimerState:
        """Write the changed leaves; return the timer state for the header."""
        self._read_header()
        if self._loose or len(self._clean) < len(self._loaded):
            self._state = self._rebuild()
        self._live.clear()
        self._heap.clear()
        self._ready.clear()
        self._loaded.clear()
        self._loaded_timers.clear()
        self._clean.clear()
        self._loose = False
        self._floor = self._state[0] if self._state else None
        return self._state

    def _peek(self) -> Item | None:
        """Return the earliest timer in memory; deleted ones are thrown away on the way to it."""
        if self._read_state is not None:
            self._read_header()
        heap, ready, live = self._heap, self._ready, self._live
        while heap and live.get(heap[0][2]) != heap[0][1]:
            heapq.heappop(heap)
        while ready and live.get(ready[-1][2]) != ready[-1][1]:
            ready.pop()
        if ready and not (heap and heap[0] < ready[-1]):
            return ready[-1]
        return heap[0] if heap else None

    def _read_header(self) -> None:
        """Read the time of the earliest timer from the header, once."""
        if self._read_state is not None:
            self._state = self._read_state()
            self._read_state = None
            if self._state is not None:
                self._floor, self._order, _ = self._state

    def _load_directory(self) -> list[int]:
        if self._firsts is None:
            self._read_header()
            self._firsts = []
            if self._state is not None:
                leaves = self._state[2]
                if leaves is None:
                    leaves = self._leaves.get_directory()
                self._firsts, self._ids, self._wide = leaves
        return self._firsts

    def _locate(self, timer: Timer) -> Place | None:
        """Return the leaf and bucket that a timer belongs to; None if they do not exist."""
        firsts = self._load_directory()
        if not firsts:
            return None
        index = max(0, bisect_right(firsts, timer.time_ms) - 1)
        id_ = self._ids[index]
        wide = self._wide.get(id_)
        if wide is None:
            return id_, 0
        if firsts[index] != timer.time_ms:
            return None
        return id_, self._leaves.hash_of(timer.key) % wide[0]

    def _load_place(self, timer: Timer) -> Place | None:
        """Load the leaf that contains a timer."""
        place = self._locate(timer)
        if place is not None and place not in self._loaded:
            for item in self._read(place):
                self._live[item[2]] = item[1]
                heapq.heappush(self._heap, item)
            self._set_floor()
        return place

    def _mark_changed(self, timer: Timer) -> None:
        """Mark the leaf and bucket of a timer as changed."""
        if self._clean:
            place = self._locate(timer)
            if place is not None:
                self._clean.discard(place)

    def _load_first(self) -> None:
        """Load the leaf of the earliest time that is not loaded, every bucket of it."""
        assert self._floor is not None
        index = bisect_right(self._load_directory(), self._floor) - 1
        id_ = self._ids[index]
        items: list[Item] = []
        for bucket in range(self._wide.get(id_, (1, 0))[0]):
            place = (id_, bucket)
            if place not in self._loaded:
                items += self._read(place)
            self._clean.discard(place)  # its timers are due, so it is about to change
        self._live.update((item[2], item[1]) for item in items)
        self._ready += items
        self._ready.sort(reverse=True)
        self._set_floor()

    def _read(self, place: Place) -> list[Item]:
        items = self._leaves.read(place, place[0] in self._wide)
        self._loaded[place] = len(items)
        self._loaded_timers[place[0]] = self._loaded_timers.get(place[0], 0) + len(items)
        self._clean.add(place)
        return items

    def _set_floor(self) -> None:
        """Find the earliest leaf that is not wholly loaded, from the last such one on."""
        firsts = self._load_directory()
        floor = self._floor
        if floor is None:
            return
        for index in range(bisect_right(firsts, floor) - 1, len(firsts)):
            if self._count_unloaded(self._ids[index]):
                self._floor = firsts[index]
                return
        self._floor = None

    def _count_unloaded(self, id_: int) -> int:
        """Return the number of timers of a leaf that are not loaded; 1 means one or more."""
        wide = self._wide.get(id_)
        if wide is None:
            return (id_, 0) not in self._loaded
        return wide[1] - self._loaded_timers.get(id_, 0)

    def _rebuild(self) -> TimerState:
        """Write the changed leaves, with their timers redistributed; return the new state."""
        store, live = self._leaves, self._live
        every = chain(self._ready, self._heap)
        items = sorted(item for item in every if live.get(item[2]) == item[1])
        external = self._state is not None and self._state[2] is None
        old_firsts, old_ids, old_wide = self._load_directory(), self._ids, self._wide
        out = LeafWriter(store)
        start = 0
        for index, id_ in enumerate(old_ids):
            end = len(items)
            if index + 1 < len(old_ids):
                end = bisect_right(items, old_firsts[index + 1] - 1, start, key=itemgetter(0))
            span = items[start:end]
            start = end
            if id_ in old_wide:
                middle = bisect_right(span, old_firsts[index] - 1, key=itemgetter(0))
                last = bisect_right(span, old_firsts[index], key=itemgetter(0))
                out.run += span[:middle]
                self._rewrite_wide(out, old_firsts[index], id_, span[middle:last])
                out.run += span[last:]
            elif (id_, 0) in self._loaded and (id_, 0) not in self._clean:
                out.run += span
                out.spare.append(id_)
            else:
                # A leaf nobody changed. Timers before the very first leaf have loaded it.
                out.close(False)
                out.add(old_firsts[index], id_)
        if not old_ids:
            out.run += items
        out.close(True)
        for id_ in out.spare:
            store.put((id_, 0), [])
        self._firsts, self._ids, self._wide = out.leaves
        inline = len(self._firsts) <= _INLINE_LEAVES
        if inline and external:
            store.put_directory(None)
        elif not inline and (not external or out.leaves != (old_firsts, old_ids, old_wide)):
            store.put_directory(out.leaves)
        if not self._firsts:
            return None
        return (self._firsts[0], self._order, out.leaves if inline else None)

    def _rewrite_wide(self, out: LeafWriter, time_ms: int, id_: int, items: list[Item]) -> None:
        """Write the changed buckets of a wide leaf, or all of them when their number changes."""
        buckets, _ = self._wide[id_]
        timers = self._count_unloaded(id_) + len(items)
        if timers > 2 * LEAF_TIMERS * buckets or timers < LEAF_TIMERS * buckets // 4:
            if timers > len(items):
                for bucket in range(buckets):
                    if (id_, bucket) not in self._loaded:
                        items += self._leaves.read((id_, bucket), True)
                items.sort()
            for bucket in range(buckets):
                self._leaves.put((id_, bucket), [])
            out.run += items
            return
        out.close(False)
        parts = self._leaves.group_by_bucket(items, buckets)
        for bucket in range(buckets):
            place = (id_, bucket)
            if place in self._loaded and place not in self._clean:
                self._leaves.put(place, parts.get(bucket, []))
        out.add(time_ms, id_, (buckets, timers))
