"""A buffer by time equals a sorted list, on the heap and in pages, wherever it is flushed."""

from __future__ import annotations

import pickle
import random
from bisect import bisect_left, bisect_right, insort_right
from operator import itemgetter
from typing import Any

import pytest

from headrace.errors import CheckpointError
from headrace.runtime.savepoint.read import StoredStates, import_backend
from headrace.runtime.savepoint.write import export_states
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.kinds import TIMES, VALUE, StateKind
from headrace.runtime.state.pages import chunked_times
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.chunked_times import ChunkedTimes
from headrace.runtime.state.time_buffer import TimeBuffer
from tests.contract.stores import CountingStore

SLOT, OTHER = "headrace.buffer", "headrace.other"
KIND = StateKind(TIMES)


def paged(store: CountingStore, page_bytes: int = 200) -> PagedBackend:
    backend = PagedBackend(store, 4, page_bytes)
    backend.declare(SLOT, KIND)
    backend.declare(OTHER, StateKind(VALUE))
    return backend


def filled(store: CountingStore, times: Any, page_bytes: int = 200) -> None:
    """Records at these times under one key, each its own time."""
    backend = paged(store, page_bytes)
    buffer = backend.enter("key").setdefault(SLOT, TimeBuffer([], []))
    for time in times:
        buffer.add(time, time)
    backend.changed("key")
    backend.flush()


class Walk:
    """A buffer and the list of pairs that it should equal, changed alike step by step."""

    def __init__(self, seed: int, in_pages: bool) -> None:
        self.rng = random.Random(seed)
        self.store = CountingStore()
        self.backend: StateBackend = paged(self.store) if in_pages else HeapBackend()
        self.in_pages = in_pages
        self.model: list[tuple[int, Any]] = []
        self.now, self.least, self.count = 0, -100, 0
        self.mutable = seed % 3 == 0

    @property
    def buffer(self) -> TimeBuffer:
        self.backend.changed("key")
        found: TimeBuffer = self.backend.enter("key").setdefault(SLOT, TimeBuffer([], []))
        return found

    def moment(self) -> int:
        return self.now - self.rng.choice([0, 1, 5, 40, 400]) + self.rng.randrange(-3, 4)

    def add(self) -> None:
        for _ in range(self.rng.choice([1, 2, 2, 60])):
            self.now += self.rng.choice([0, 0, 1, 3])
            late = self.rng.random() < 0.2
            time = max(self.moment() if late else self.now, self.least)
            self.count += 1
            record: Any = [self.count] if self.mutable else (self.count, "x" * (self.count % 9))
            insort_right(self.model, (time, record), key=itemgetter(0))
            self.buffer.add(time, pickle.loads(pickle.dumps(record)))

    def remove_through(self) -> None:
        moment = self.moment()
        del self.model[: bisect_right(self.model, moment, key=itemgetter(0))]
        self.buffer.remove_through(moment)
        # As in Flink's interval join: a record of this very moment may still come.
        self.least = max(self.least, moment)

    def keep_from(self) -> None:
        moment = self.moment()
        place = bisect_right(self.model, moment, key=itemgetter(0)) - 1
        self.buffer.keep_from(moment)
        kept = [*self.buffer]
        assert len(self.model) - max(place, 0) <= len(kept) <= len(self.model)
        self.model = self.model[len(self.model) - len(kept) :]
        assert kept == self.model

    def look(self) -> None:
        first = self.moment()
        last = first + self.rng.choice([0, 3, 50])
        start = bisect_left(self.model, first, key=itemgetter(0))
        end = bisect_right(self.model, last, key=itemgetter(0))
        times, values = self.buffer.between(first, last)
        assert [*zip(times, values, strict=True)] == self.model[start:end]
        before = bisect_right(self.model, first, key=itemgetter(0)) - 1
        wanted = None if before < 0 else self.model[before]
        assert self.buffer.last_at_or_before(first) == wanted
        after = None if start == len(self.model) else self.model[start]
        assert self.buffer.first_at_or_after(first) == after

    def change_in_place(self) -> None:
        if self.mutable:
            for each in (self.buffer.between(self.now - 9, self.now)[1], self.in_model()):
                for record in each:
                    record.append("changed")

    def in_model(self) -> list[Any]:
        return [record for time, record in self.model if self.now - 9 <= time <= self.now]

    def check(self) -> None:
        buffer = self.buffer
        assert bool(buffer) == bool(self.model)
        assert [*buffer] == self.model
        assert len(buffer) == len(self.model)
        if self.model:
            assert buffer.least_ms <= self.model[0][0]
            assert (buffer.first_ms, buffer.last_ms) == (self.model[0][0], self.model[-1][0])

    def flush(self) -> None:
        if not self.buffer:
            del self.backend.enter("key")[SLOT]
        self.backend.flush()
        if self.in_pages:
            self.backend = paged(self.store)


STEPS = [
    *(Walk.add,) * 6,
    *(Walk.look,) * 4,
    *(Walk.flush,) * 3,
    Walk.remove_through,
    Walk.keep_from,
    Walk.change_in_place,
    Walk.check,
]


@pytest.mark.parametrize("in_pages", [False, True], ids=["heap", "pages"])
@pytest.mark.parametrize("seed", range(30))
def test_it_equals_a_sorted_list(
    seed: int, in_pages: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunked_times, "LEAF_CHUNKS", 3)
    walk = Walk(seed, in_pages)
    for _ in range(150):
        walk.rng.choice(STEPS)(walk)
    walk.check()
    walk.flush()
    walk.check()
    walk.now, walk.model = walk.now + 1000, []
    walk.buffer.remove_through(walk.now)
    walk.flush()
    walk.flush()
    assert [*walk.backend.keys()] == []
    assert not in_pages or walk.store.records == {}


@pytest.mark.parametrize("through", [-1, 3_999])
def test_an_entry_that_is_cleared_leaves_nothing(through: int) -> None:
    store = CountingStore()
    filled(store, range(5_000))
    for step in ("remove", "clear"):
        backend = paged(store)
        entry = backend.enter("key")
        if step == "remove":
            entry[SLOT].remove_through(through)
        else:
            assert type(entry[SLOT]) is ChunkedTimes
            assert len(entry[SLOT]) == 4_999 - through
            entry.clear()
        backend.changed("key")
        backend.flush()
    assert store.records == {}


def test_a_buffer_given_to_another_key_is_independent() -> None:
    store = CountingStore()
    filled(store, range(500))
    backend = paged(store)
    backend.enter("other")[SLOT] = backend.enter("key")[SLOT]
    backend.changed("other")
    backend.flush()
    backend = paged(store)
    backend.enter("key").clear()
    backend.changed("key")
    backend.flush()
    assert [*paged(store).enter("other")[SLOT]] == [(time, time) for time in range(500)]


def test_chunks_are_dropped_unread() -> None:
    store = CountingStore()
    filled(store, range(50_000))
    chunks = sum(name.startswith("b") for name in store.records)
    backend = paged(store)
    store.reset()
    backend.enter("key")[SLOT].remove_through(49_000)
    backend.changed("key")
    backend.flush()
    left = sum(name.startswith("b") for name in store.records)
    assert left < chunks / 10
    leaves = chunks // chunked_times.LEAF_CHUNKS + 1
    assert sum(name.startswith("b") for name in store.read) <= leaves
    assert paged(store).enter("key")[SLOT].first_ms == 49_001


@pytest.mark.parametrize("at", ["newest", "oldest", "in the middle"])
def test_what_a_touch_costs_hardly_grows(at: str) -> None:
    """One record is added and one looked up: few calls, whatever the buffer holds."""
    costs = {}
    for count in (100, 2_000, 100_000):
        store = CountingStore()
        filled(store, range(0, count * 10, 10), page_bytes=16_384)
        moment = {"newest": count * 10 - 25, "oldest": 35, "in the middle": count * 5 + 5}[at]
        calls = moved = 0
        for turn in range(20):
            store.reset()
            backend = paged(store, 16_384)
            buffer = backend.enter("key")[SLOT]
            assert buffer.last_at_or_before(moment)[0] == moment - 5
            buffer.add(count * 10 + turn, turn)
            backend.changed("key")
            backend.flush()
            calls += len(store.read) + len(store.written)
            moved += store.moved_bytes
        costs[count] = calls / 20, moved / 20
    assert costs[2_000][0] <= costs[100][0] + 2.2
    assert costs[100_000][0] <= costs[100][0] + 3.2  # a leaf of the directory
    assert costs[100_000][1] <= costs[2_000][1] + 3_000


def test_it_moves_as_records_from_heap_to_pages() -> None:
    heap = HeapBackend()
    heap.declare(SLOT, KIND)
    for key in ("a", "b"):
        buffer = heap.enter(key)[SLOT] = TimeBuffer([], [])
        for time in (5, 1, 5, 3) * 100:
            buffer.add(time, [key, time, len(buffer)])
    records = [*export_states("join", heap, 0)]
    assert [record.stamp_ms for record in records[:3]] == [1, 1, 1]
    store = CountingStore()
    backend = paged(store)
    import_backend(records, backend, StoredStates.of(heap))
    backend = paged(store)
    assert type(backend.enter("a")[SLOT]) is ChunkedTimes
    for key in ("a", "b"):
        assert [*backend.enter(key)[SLOT]] == [*heap.enter(key)[SLOT]]
    assert sorted(export_states("join", PagedBackend(store, 4, 200), 0)) == sorted(records)
    for wrong in (records[1:], [records[0], *records], [*records[:5], *records[6:]]):
        with pytest.raises(CheckpointError, match="has the position"):
            import_backend(wrong, paged(CountingStore()), StoredStates.of(heap))


def test_a_buffer_is_no_value() -> None:
    store = CountingStore()
    filled(store, [1])
    backend = PagedBackend(store, 4, 200)
    backend.declare(SLOT, StateKind(VALUE))
    with pytest.raises(CheckpointError, match="stored as times without a time-to-live"):
        backend.enter("key")


def test_pickled_elsewhere_it_is_a_plain_buffer() -> None:
    store = CountingStore()
    filled(store, range(500))
    found = pickle.loads(pickle.dumps(paged(store).enter("key")[SLOT]))
    assert type(found) is TimeBuffer
    assert found.times == found.values == [*range(500)]
    assert repr(found) == "<TimeBuffer of 500 records>"


def test_a_buffer_in_the_smallest_pages() -> None:
    """Even an empty tail is more than its share of such a page."""
    store = CountingStore()
    filled(store, range(9), page_bytes=1)
    backend = paged(store, page_bytes=1)
    backend.enter("key")[SLOT].remove_through(3)
    backend.changed("key")
    backend.flush()
    assert [time for time, _ in paged(store, page_bytes=1).enter("key")[SLOT]] == [*range(4, 9)]
