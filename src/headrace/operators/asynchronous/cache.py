"""A cache of lookup results by key, in front of an asynchronous function.

The task's thread reads the cache first, since a hit needs no event loop. On a miss the event loop's
thread reads it again, and calls the function. Entries expire by the event loop's clock. The cache
is no state: a new worker starts with an empty one.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Task
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from headrace.operators.asynchronous.calls import Calls, CallSettings
from headrace.operators.asynchronous.element_queue import Call
from headrace.runtime.immutability import is_immutable
from headrace.runtime.record_copies import copy_record


@dataclass(frozen=True)
class CacheLimits:
    """``max_rows``: how many keys are kept; None for any number. ``expire_…_ms``: None for never.

    ``keeps_missing``: whether keys for which nothing was found are kept too.
    """

    max_rows: int | None = None
    expire_after_write_ms: int | None = None
    expire_after_access_ms: int | None = None
    keeps_missing: bool = True


@dataclass
class CacheStatistics:
    """Counters of a cache since it was made."""

    hits: int = 0
    misses: int = 0
    loads: int = 0
    failures: int = 0


class _CacheEntry:
    __slots__ = ("is_immutable", "read_s", "results", "written_s")

    def __init__(self, results: list[Any], now_s: float) -> None:
        self.results, self.is_immutable = results, all(map(is_immutable, results))
        self.written_s = self.read_s = now_s


_MIN_SWEEP_ROWS = 64


class Cache:
    """Results by key, thread-safe; when it is full, the least recently used key is removed.

    ``clock`` returns the time in seconds.
    """

    def __init__(self, limits: CacheLimits, clock: Callable[[], float]) -> None:
        self._limits, self._clock = limits, clock
        self._expires = (
            limits.expire_after_write_ms is not None or limits.expire_after_access_ms is not None
        )
        self._is_bounded = limits.max_rows is not None
        self._rows: OrderedDict[Any, _CacheEntry] = OrderedDict()
        self._until_sweep = _MIN_SWEEP_ROWS
        self._lock = Lock()
        self.statistics = CacheStatistics()

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, key: Any) -> list[Any] | None:
        """Return a key's results, which the caller may change; None if it is missing or expired."""
        with self._lock:
            row = self._rows.get(key)
            if row is None:
                return None
            if self._expires:
                now_s = self._clock()
                if self._is_expired(row, now_s):
                    del self._rows[key]
                    return None
                row.read_s = now_s
            if self._is_bounded:
                self._rows.move_to_end(key)
            self.statistics.hits += 1
        return [*row.results] if row.is_immutable else copy_record(row.results)

    def put(self, key: Any, results: list[Any]) -> None:
        """Store the results of a key."""
        if results or self._limits.keeps_missing:
            with self._lock:
                self._put_results(key, results)

    def _put_results(self, key: Any, results: list[Any]) -> None:
        """Store results; remove the oldest row if there are too many.

        Expired rows are removed from time to time.
        """
        limits, rows, now_s = self._limits, self._rows, self._clock()
        rows[key] = _CacheEntry(results, now_s)
        rows.move_to_end(key)
        self._until_sweep -= 1
        if self._until_sweep == 0:
            for old in [k for k, row in rows.items() if self._is_expired(row, now_s)]:
                del rows[old]
            self._until_sweep = max(_MIN_SWEEP_ROWS, len(rows))  # one check per row, on average
        if limits.max_rows is not None and len(rows) > limits.max_rows:
            rows.popitem(last=False)

    def _is_expired(self, row: _CacheEntry, now_s: float) -> bool:
        write_ms, read_ms = self._limits.expire_after_write_ms, self._limits.expire_after_access_ms
        return (write_ms is not None and (now_s - row.written_s) * 1000 >= write_ms) or (
            read_ms is not None and (now_s - row.read_s) * 1000 >= read_ms
        )


@dataclass(eq=False)
class _Load:
    """A lookup in progress, and the calls that wait for it."""

    key: Any
    waiting: list[Call] = field(default_factory=list)
    task: Task[None] | None = None


class CachedCalls(Calls):
    """Calls whose argument is a key: results are cached, and calls for one key share a lookup."""

    def __init__(self, loop: AbstractEventLoop, settings: CallSettings, cache: Cache) -> None:
        super().__init__(loop, settings)
        self._cache = cache
        self._loads: dict[Any, _Load] = {}

    def _start(self, call: Call) -> None:
        key, statistics = call.argument, self._cache.statistics
        results = self._cache.get(key)  # another record's lookup may have ended meanwhile
        if results is not None:
            self._finish(call, results, None)
            return
        statistics.misses += 1
        load = self._loads.get(key)
        if load is None:
            load = self._loads[key] = _Load(key)
            statistics.loads += 1
            load.task = self._loop.create_task(self._load(load))
        load.waiting.append(call)
        call.work = load

    async def _load(self, load: _Load) -> None:
        try:
            results = await self._invoke(load.key)
            if isinstance(results, Iterable):
                results = list(results)
                self._cache.put(load.key, _copy_results(results))
        except BaseException as error:  # as in Calls._work
            self._cache.statistics.failures += 1
            self._remove_load(load)
            for call in load.waiting:
                self._finish(call, None, error)
            return
        self._remove_load(load)
        for call in load.waiting:
            self._finish(call, _copy_results(results), None)

    def _remove_load(self, load: _Load) -> None:
        if self._loads.get(load.key) is load:
            del self._loads[load.key]

    def _cancel(self, call: Call) -> None:
        """Remove a call from its lookup, which is cancelled when no call waits for it."""
        load: _Load = call.work
        if call in load.waiting:
            load.waiting.remove(call)
        if not load.waiting and load.task is not None:
            self._remove_load(load)
            load.task.cancel()


def _copy_results(results: Any) -> Any:
    """Copy results, so that one record's consumer can change them without effect on others."""
    if not isinstance(results, list):
        return results
    return [*results] if all(map(is_immutable, results)) else copy_record(results)
