"""The operator of asynchronous functions: many calls at once, ordered or unordered.

All results of a task run are emitted within it. So a micro-batch that is repeated after a failure
repeats its calls, and each record has its results once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from headrace.errors import TypeMismatchError
from headrace.metrics.metricbase import Counter, MetricGroup
from headrace.operators.asynchronous.cache import Cache, CachedCalls, CacheLimits
from headrace.operators.asynchronous.calls import Calls, CallSettings
from headrace.operators.asynchronous.element_queue import (
    Call,
    OrderedQueue,
    StreamElementQueue,
    UnorderedQueue,
)
from headrace.operators.asynchronous.loop import event_loop, wait_if_awaitable
from headrace.operators.emission import check_results
from headrace.runtime.context import TaskContext
from headrace.runtime.loops import Push
from headrace.runtime.operator import (
    NodeProgram,
    Operator,
    OperatorSpec,
    Outputs,
    PushWatermark,
    Traits,
)
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.user_function import UserFunction, close_function, open_function

_EmitResults = Callable[[Any, int | None, Any], None]
"""Emits the results of a record, with its timestamp."""


@dataclass(frozen=True)
class AsyncWaitSpec(OperatorSpec):
    """Calls ``function(value)`` for at most ``capacity`` records at once.

    An ``AsyncFunction`` returns a list of results, a plain ``async def`` one result. ``ordered``:
    results keep the order of their records. ``timeout_ms``: for all attempts together; 0 or less
    for no timeout. ``retries``: an ``AsyncRetryStrategy``; None for one attempt.

    With a ``cache`` the function is called with ``key(value)`` if ``key`` is set, and ``join(value,
    results)`` returns what is emitted if ``join`` is set.
    """

    function: UserFunction
    ordered: bool
    timeout_ms: int
    capacity: int
    retries: UserFunction | None = None
    cache: CacheLimits | None = None
    key: UserFunction | None = None
    join: UserFunction | None = None
    traits = Traits(calls_async=True)
    kind = "async-wait"
    label = "async wait operator"

    def build(self) -> Operator:
        return AsyncWaitOperator(self)


class AsyncWaitOperator(Operator):
    """Starts a call for each record, and emits the results on the task's thread."""

    def __init__(self, spec: AsyncWaitSpec) -> None:
        self._spec = spec
        self._cache: Cache | None = None
        self._metrics: _CacheMetrics | None = None

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        """Open the functions; ``open`` may be ``async def``."""
        self.node, self.key_context = node, key_context
        loop = self._loop = event_loop()
        for function in self._spec.functions:
            wait_if_awaitable(open_function(function, context))
        self._call_settings = _call_settings(self._spec)
        if self._spec.cache is not None:
            self._cache = Cache(self._spec.cache, loop.time)
            group = context.get_metrics_group().add_group("cache")
            self._metrics = _CacheMetrics(self._cache, group)

    def bind(self, outputs: Outputs) -> Push:
        spec, node, down = self._spec, self.node, outputs.main
        key = None if spec.key is None else spec.key.as_callable()
        join = None if spec.join is None else spec.join.as_callable()
        capacity = spec.capacity

        def emit(call: Call, node: Any = node) -> None:
            value, timestamp = call.value, call.timestamp  # locals that an error report reads
            if call.error is not None:
                raise call.error
            emit_results(value, timestamp, call.results)

        def emit_results(value: Any, timestamp: int | None, results: Any, node: Any = node) -> None:
            if type(results) is not list:
                _require_iterable(results, spec.function.name)
            if join is not None:
                results = join(value, results)
                if type(results) is not list:
                    _require_iterable(results, "join")
            for result in results:
                down(result, timestamp)

        def push(value: Any, timestamp: int | None, node: Any = node) -> None:
            argument = value if key is None else key(value)
            self._complete_done()
            while self._queue.count >= capacity:
                self._complete_call(self._calls.done.get())
            call = Call(value, timestamp, argument)
            self._queue.add(call)
            self._calls.begin(call)

        self._emit = emit
        self._reset()
        return push if self._cache is None else self._bind_cached(self._cache, key, emit_results)

    def _bind_cached(
        self, cache: Cache, key: Callable[[Any], Any] | None, emit_results: _EmitResults
    ) -> Push:
        """Return the push of an operator with a cache; it emits cached results at once.

        They wait in the queue only if an earlier element does. The event loop costs several times
        what a read of the cache does.
        """
        node, capacity = self.node, self._spec.capacity

        def push(value: Any, timestamp: int | None, node: Any = node) -> None:
            argument = value if key is None else key(value)
            cached_results = cache.get(argument)
            self._complete_done()
            if cached_results is not None and self._queue.is_empty:
                emit_results(value, timestamp, cached_results)
                return
            while self._queue.count >= capacity:
                self._complete_call(self._calls.done.get())
            call = Call(value, timestamp, argument)
            self._queue.add(call)
            if cached_results is None:
                self._calls.begin(call)
            else:
                call.results, call.done = cached_results, True
                self._queue.complete(call)

        return push

    def _reset(self) -> None:
        self._queue: StreamElementQueue = (OrderedQueue if self._spec.ordered else UnorderedQueue)(
            self._emit
        )
        self._calls = (
            Calls(self._loop, self._call_settings)
            if self._cache is None
            else CachedCalls(self._loop, self._call_settings, self._cache)
        )

    def _complete_call(self, call: Call) -> None:
        if call.error is not None:
            self._abandon_waiting()
            self._emit(call)  # raises: the job fails
        self._queue.complete(call)

    def _complete_done(self) -> None:
        done = self._calls.done
        while not done.empty():
            self._complete_call(done.get())

    def _abandon_waiting(self) -> None:
        # After a failure downstream, watermarks may be left although no call is.
        if not self._queue.is_empty:
            self._calls.abandon(self._queue.calls())
            self._reset()

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        """Pass the watermark on after the results of all records before it."""
        self._queue.put_watermark(partial(push_watermark, watermark, idle))

    def tick(self) -> None:
        """Emit the results that are there."""
        self._complete_done()

    def complete(self) -> None:
        """Wait for all results and emit them."""
        while self._queue.count:
            self._complete_call(self._calls.done.get())
        if self._metrics is not None:
            self._metrics.update()

    def restore(self, state: Any | None) -> None:
        """Abandon the calls of a failed task run."""
        self._abandon_waiting()

    def close(self) -> None:
        """Close the functions; ``close`` may be ``async def``."""
        self._abandon_waiting()
        with contextlib.ExitStack() as stack:
            for function in self._spec.functions:
                stack.callback(_close_function, function)


def _close_function(function: UserFunction) -> None:
    wait_if_awaitable(close_function(function))


def _call_settings(spec: AsyncWaitSpec) -> CallSettings:
    function = spec.function.as_callable()
    on_timeout = getattr(spec.function.target, "timeout", None)
    is_object = spec.function.method is not None

    async def one_result(argument: Any) -> list[Any]:
        return [await function(argument)]

    def raise_timeout(argument: Any) -> Any:
        raise TimeoutError(f"{spec.function.name} gave no result within {spec.timeout_ms} ms")

    return CallSettings(
        function if is_object else one_result,
        None if spec.retries is None else spec.retries.target,
        spec.timeout_ms / 1000 if spec.timeout_ms > 0 else None,
        on_timeout if is_object and callable(on_timeout) else raise_timeout,
    )


def _require_iterable(results: Any, function: str) -> None:
    """Check that a function returned an iterable of results.

    Raises:
        TypeMismatchError: the result is not iterable.
    """
    if not isinstance(results, Iterable):
        raise TypeMismatchError(
            f"{function} returned {results!r}, which is not a list of results",
            hint="return a list: [result] for one result, [] for none",
        )
    if type(results) is not list:
        check_results(results)


class _CacheMetrics:
    """The cache's statistics as metrics, with Flink's names.

    The statistics are counted by both threads; metrics may be changed by the task's thread only.
    """

    def __init__(self, cache: Cache, group: MetricGroup) -> None:
        self._cache = cache
        names = ("hitCount", "missCount", "loadCount", "numLoadFailures")
        self._counters: list[Counter] = [group.counter(name) for name in names]
        group.gauge("numCachedRecords", lambda: len(cache))

    def update(self) -> None:
        """Set the metrics to the current statistics."""
        statistics = self._cache.statistics
        figures = (statistics.hits, statistics.misses, statistics.loads, statistics.failures)
        for counter, figure in zip(self._counters, figures, strict=True):
            counter.inc(figure - counter.get_count())
