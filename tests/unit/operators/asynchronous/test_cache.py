"""The lookup cache: what it keeps and for how long, and that each key is asked for once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.operators.asynchronous.cache import Cache, CachedCalls, CacheLimits, CacheStatistics
from headrace.operators.asynchronous.calls import CallSettings
from headrace.operators.asynchronous.element_queue import Call
from tests.unit.operators.asynchronous.loops import SkippingLoop


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def kept(cache: Cache, *keys: Any) -> list[Any]:
    return [key for key in keys if cache.get(key) is not None]


def test_the_key_not_asked_for_the_longest_leaves_first() -> None:
    cache = Cache(CacheLimits(max_rows=2), Clock())
    cache.put("a", [1])
    cache.put("b", [2])
    assert cache.get("a") == [1]
    cache.put("c", [3])
    assert kept(cache, "a", "b", "c") == ["a", "c"] and len(cache) == 2


def test_results_expire_after_they_were_written() -> None:
    clock = Clock()
    cache = Cache(CacheLimits(expire_after_write_ms=1000), clock)
    cache.put("a", [1])
    clock.now_s = 0.999
    assert kept(cache, "a") == ["a"]
    clock.now_s = 1.0
    assert kept(cache, "a") == [] and len(cache) == 0


def test_results_expire_after_nobody_asked_for_them() -> None:
    clock = Clock()
    cache = Cache(CacheLimits(expire_after_access_ms=1000), clock)
    cache.put("a", [1])
    cache.put("b", [1])
    for _ in range(4):
        clock.now_s += 0.6
        assert kept(cache, "a") == ["a"]
    assert kept(cache, "b") == []


def test_what_expired_leaves_though_nobody_asks_for_it() -> None:
    clock = Clock()
    cache = Cache(CacheLimits(expire_after_write_ms=1000), clock)
    for number in range(1000):
        clock.now_s = number / 10
        cache.put(number, [number])
    assert len(cache) < 100


@pytest.mark.parametrize("keeps", [True, False])
def test_that_nothing_was_found_is_kept_if_wanted(keeps: bool) -> None:
    cache = Cache(CacheLimits(keeps_missing=keeps), Clock())
    cache.put("a", [])
    assert kept(cache, "a") == (["a"] if keeps else [])


@pytest.fixture
def loop() -> Iterator[SkippingLoop]:
    loop = SkippingLoop()
    yield loop
    loop.close()


class Service:
    """Answers a key after a second; counts how often each was asked for."""

    def __init__(self, fails: int = 0) -> None:
        self.asked: list[Any] = []
        self._fails = fails

    async def __call__(self, key: Any) -> Any:
        self.asked.append(key)
        await asyncio.sleep(1)
        if len(self.asked) <= self._fails:
            raise OSError(key)
        return [{"of": key}]


class Harness:
    """Cached calls of a service on a loop."""

    def __init__(self, loop: SkippingLoop, invoke: Any, timeout_s: float | None = None) -> None:
        self.cache = Cache(CacheLimits(), loop.time)
        settings = CallSettings(invoke, None, timeout_s, lambda key: [("late", key)])
        self.calls = CachedCalls(loop, settings, self.cache)

    def invoke_with_retries(self, *keys: Any) -> None:
        for key in keys:
            self.calls.begin(Call(key, None, key))

    def taken(self) -> list[Any]:
        found = []
        while not self.calls.done.empty():
            call = self.calls.done.get()
            found.append(call.results if call.error is None else call.error)
        return found


def test_records_that_ask_at_the_same_time_share_a_lookup(loop: SkippingLoop) -> None:
    service = Service()
    harness = Harness(loop, service)
    harness.invoke_with_retries("a", "b", "a")
    loop.run(0.5)
    harness.invoke_with_retries("a")
    loop.run(0.6)
    assert sorted(map(repr, harness.taken())) == ["[{'of': 'a'}]"] * 3 + ["[{'of': 'b'}]"]
    harness.invoke_with_retries("a")
    loop.run(0.1)
    assert harness.taken() == [[{"of": "a"}]]
    assert service.asked == ["a", "b"]
    assert harness.cache.statistics == CacheStatistics(hits=1, misses=4, loads=2)


def test_no_record_sees_what_another_does_to_its_results(loop: SkippingLoop) -> None:
    harness = Harness(loop, Service())
    harness.invoke_with_retries("a", "a")
    loop.run(1.1)
    for results in harness.taken():
        results[0]["of"] = "changed"
        results.append("more")
    harness.invoke_with_retries("a")
    loop.run(0.1)
    assert harness.taken() == [[{"of": "a"}]]


def test_a_failure_goes_to_all_who_wait_and_is_not_kept(loop: SkippingLoop) -> None:
    service = Service(fails=1)
    harness = Harness(loop, service)
    harness.invoke_with_retries("a", "a")
    loop.run(1.1)
    assert [type(each) for each in harness.taken()] == [OSError, OSError]
    harness.invoke_with_retries("a")
    loop.run(1.1)
    assert harness.taken() == [[{"of": "a"}]]
    assert harness.cache.statistics == CacheStatistics(misses=3, loads=2, failures=1)


def test_each_record_has_a_timeout_of_its_own(loop: SkippingLoop) -> None:
    harness = Harness(loop, Service(), timeout_s=0.8)
    harness.invoke_with_retries("a")
    loop.run(0.5)
    harness.invoke_with_retries("a")
    loop.run(0.4)
    assert harness.taken() == [[("late", "a")]]  # the lookup goes on for the other
    loop.run(0.2)
    assert harness.taken() == [[{"of": "a"}]]


def test_a_lookup_that_nobody_waits_for_is_ended(loop: SkippingLoop) -> None:
    service = Service()
    harness = Harness(loop, service, timeout_s=0.5)
    harness.invoke_with_retries("a")
    loop.run(0.6)
    assert harness.taken() == [[("late", "a")]] and not asyncio.all_tasks(loop)
    harness.invoke_with_retries("a")
    loop.run(0.1)
    assert service.asked == ["a", "a"]
    harness.calls.abandon([])
    loop.run(2)


def test_a_key_that_cannot_be_one_fails_its_record(loop: SkippingLoop) -> None:
    harness = Harness(loop, Service(), timeout_s=1)
    harness.invoke_with_retries(["a"], "b")
    loop.run(1.1)
    error, late = harness.taken()
    assert isinstance(error, TypeError) and "unhashable" in str(error)
    assert late in ([("late", "b")], [{"of": "b"}])


def test_what_is_no_list_is_handed_back_and_not_kept(loop: SkippingLoop) -> None:
    async def wrong(key: Any) -> Any:
        return None

    harness = Harness(loop, wrong)
    harness.invoke_with_retries("a")
    loop.run(0.1)
    assert harness.taken() == [None] and len(harness.cache) == 0
