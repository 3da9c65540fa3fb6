"""What timers ask of the store."""

from __future__ import annotations

from functools import cache

import pytest

from headrace.runtime.state.backend import Timer
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.timers.leaves import LEAF_TIMERS
from tests.contract.stores import CountingStore

START_MS = 1_700_000_000_000


def call(store: CountingStore) -> PagedBackend:
    """The backend of a new call; counts from zero."""
    store.reset()
    return PagedBackend(store, 8)


@pytest.fixture
def store() -> CountingStore:
    """An empty store."""
    return CountingStore()


def fill(store: CountingStore, count: int, step_ms: int) -> None:
    """Register timers of as many keys, ``step_ms`` apart."""
    store.records.update(filled(count, step_ms))


@cache
def filled(count: int, step_ms: int) -> dict[str, bytes]:
    """What a store holds that was given these timers in one call."""
    store = CountingStore()
    backend = call(store)
    for key in range(count):
        backend.event_timers.register(Timer(START_MS + key * step_ms, key))
    backend.flush()
    return store.records


@pytest.mark.parametrize("step_ms", [0, 7])
def test_nothing_due_reads_the_header_only(store: CountingStore, step_ms: int) -> None:
    fill(store, 40_000, step_ms)
    assert len(store.records["h"]) < 4096
    assert all(len(data) < 65536 for data in store.records.values())
    backend = call(store)
    assert backend.event_timers.earliest_ms() == START_MS
    assert backend.event_timers.pop_due(START_MS - 1) is None
    backend.flush()
    assert store.read == ["h"]
    assert store.written == []


@pytest.mark.parametrize("step_ms", [0, 7])
def test_one_timer_touches_one_leaf(store: CountingStore, step_ms: int) -> None:
    fill(store, 40_000, step_ms)
    backend = call(store)
    backend.event_timers.register(Timer(START_MS + 20_000 * step_ms, -1))
    backend.event_timers.register(Timer(START_MS + 20_000 * step_ms, 20_000))
    backend.flush()
    assert len(store.read) <= 4
    assert len(store.written) <= 5
    backend = call(store)
    backend.event_timers.delete(Timer(START_MS + 20_000 * step_ms, -1))
    backend.flush()
    assert len(store.read) <= 3
    assert len(store.written) <= 3


@pytest.mark.parametrize("step_ms", [0, 1, 7])
def test_firing_everything_leaves_nothing(store: CountingStore, step_ms: int) -> None:
    count = 40 * LEAF_TIMERS
    fill(store, count, step_ms)
    backend = call(store)
    for key in range(count):
        assert backend.event_timers.pop_due(START_MS * 2) == Timer(START_MS + key * step_ms, key)
    assert backend.event_timers.pop_due(START_MS * 2) is None
    backend.flush()
    assert store.records == {}


def test_firing_a_part_touches_that_part(store: CountingStore) -> None:
    fill(store, 40_000, 7)
    backend = call(store)
    for key in range(100):
        assert backend.event_timers.pop_due(START_MS + 99 * 7) == Timer(START_MS + key * 7, key)
    assert backend.event_timers.pop_due(START_MS + 99 * 7) is None
    assert backend.event_timers.earliest_ms() == START_MS + 100 * 7
    backend.flush()
    assert len(store.read) <= 3
    assert len(store.written) <= 3


def test_a_moment_grows_over_calls_and_shrinks(store: CountingStore) -> None:
    keys = [*range(20 * LEAF_TIMERS)]
    for start in range(0, len(keys), 300):
        backend = call(store)
        for key in keys[max(0, start - 100) : start + 300]:  # some are there already
            backend.event_timers.register(Timer(START_MS, key, "window"))
        backend.flush()
    buckets = [name for name in store.records if name[0] == "E"]
    assert 5 <= len(buckets) <= 40
    for start in range(0, len(keys), 300):
        backend = call(store)
        for key in keys[start : start + 250]:
            backend.event_timers.delete(Timer(START_MS, key, "window"))
        backend.flush()
    left = [key for key in keys if key % 300 >= 250]
    backend = call(store)
    found = []
    while (timer := backend.event_timers.pop_due(START_MS)) is not None:
        found.append(timer.key)
    assert found == left
    backend.flush()
    assert store.records == {}


def test_times_beside_a_crowded_moment(store: CountingStore) -> None:
    fill(store, 3 * LEAF_TIMERS, 0)
    for offset_ms in (-5, 5, 3, -9):
        backend = call(store)
        backend.event_timers.register(Timer(START_MS + offset_ms, "beside"))
        backend.flush()
    backend = call(store)
    times = []
    while (timer := backend.event_timers.pop_due(START_MS + 9)) is not None:
        times.append(timer.time_ms - START_MS)
    assert times == [-9, -5, *[0] * (3 * LEAF_TIMERS), 3, 5]


def test_a_crowded_moment_whose_touched_timers_are_gone_is_still_next(
    store: CountingStore,
) -> None:
    fill(store, 10 * LEAF_TIMERS, 0)
    backend = call(store)
    backend.event_timers.delete(Timer(START_MS, 1))
    assert backend.event_timers.earliest_ms() == START_MS
    for key in range(10 * LEAF_TIMERS):
        backend.event_timers.delete(Timer(START_MS, key))
    assert backend.event_timers.earliest_ms() is None
    backend.flush()
    assert store.records == {}


def test_equal_namespaces_are_stored_once(store: CountingStore) -> None:
    backend = call(store)
    for key in range(200):
        backend.event_timers.register(Timer(START_MS, key, ("window", "x" * 100, key // 1000)))
    backend.flush()
    (leaf,) = (data for name, data in store.records.items() if name.startswith("E"))
    assert len(leaf) < 3000


def test_order_of_a_moment_of_which_a_part_was_read(store: CountingStore) -> None:
    count = 10 * LEAF_TIMERS
    fill(store, count, 0)
    backend = call(store)
    for key in (count - 1, 77):  # there already: reads their buckets
        backend.event_timers.register(Timer(START_MS, key))
    backend.event_timers.register(Timer(START_MS, "new"))
    for key in [*range(count), "new"]:
        assert backend.event_timers.pop_due(START_MS) == Timer(START_MS, key)
