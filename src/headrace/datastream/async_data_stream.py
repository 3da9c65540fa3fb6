"""``AsyncDataStream``: concurrent calls to other systems."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace._lazy_exports import lazy_exports
from headrace.common._arguments import require_positive, with_article
from headrace.common.time import TimeAmount, milliseconds_of
from headrace.common.typeinfo import TypeInformation
from headrace.datastream._build.call_site import call_site
from headrace.datastream._functions.asynchronous import AsyncFunction
from headrace.datastream._functions.retries import (
    NO_RETRY_STRATEGY,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
)
from headrace.datastream.data_stream import DataStream
from headrace.datastream.lookup_cache import LookupCache
from headrace.errors import PlanError, WrongFunctionError
from headrace.graph.transformation import CallSite
from headrace.operators.asynchronous.cache import CacheLimits
from headrace.operators.asynchronous.operator import AsyncWaitSpec
from headrace.operators.inspection import inspect_function
from headrace.runtime.user_function import UserFunction

__all__ = ["AsyncDataStream"]

if not TYPE_CHECKING:  # type checkers find names in their defining modules
    __getattr__ = lazy_exports(__name__)

_AsyncCallable = AsyncFunction[Any, Any] | Callable[[Any], Awaitable[Any]]


class AsyncDataStream:
    """Applies asynchronous functions to streams.

    A function is an ``AsyncFunction``, which returns a list of results, or a plain ``async def``,
    which returns one result. At most ``capacity`` records are in progress in each task. ``timeout``
    is the limit for all attempts of a record together; 0 means no limit. If there is a ``cache``,
    the function is called only for keys that are not cached. Results keep the timestamps of their
    records, and do not overtake watermarks.
    """

    @staticmethod
    def unordered_wait(
        data_stream: DataStream,
        async_function: _AsyncCallable,
        timeout: TimeAmount,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
        *,
        cache: LookupCache | None = None,
    ) -> DataStream:
        """Emit results as soon as they are ready, in any order between two watermarks."""
        waiting = _Wait("unordered_wait", data_stream, async_function, call_site())
        return waiting.added(False, timeout, NO_RETRY_STRATEGY, capacity, output_type, cache)

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream,
        async_function: _AsyncCallable,
        timeout: TimeAmount,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: TypeInformation | None = None,
        *,
        cache: LookupCache | None = None,
    ) -> DataStream:
        """Do as ``unordered_wait``; the strategy says which calls are retried, and when."""
        waiting = _Wait("unordered_wait_with_retry", data_stream, async_function, call_site())
        return waiting.added(False, timeout, async_retry_strategy, capacity, output_type, cache)

    @staticmethod
    def ordered_wait(
        data_stream: DataStream,
        async_function: _AsyncCallable,
        timeout: TimeAmount,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
        *,
        cache: LookupCache | None = None,
    ) -> DataStream:
        """Emit results in the order of their records."""
        waiting = _Wait("ordered_wait", data_stream, async_function, call_site())
        return waiting.added(True, timeout, NO_RETRY_STRATEGY, capacity, output_type, cache)

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream,
        async_function: _AsyncCallable,
        timeout: TimeAmount,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: TypeInformation | None = None,
        *,
        cache: LookupCache | None = None,
    ) -> DataStream:
        """Do as ``ordered_wait``; the strategy says which calls are retried, and when."""
        waiting = _Wait("ordered_wait_with_retry", data_stream, async_function, call_site())
        return waiting.added(True, timeout, async_retry_strategy, capacity, output_type, cache)


class _Wait:
    """A call of one of the methods above: checks the arguments, and adds the operator."""

    def __init__(self, call: str, stream: DataStream, function: Any, site: CallSite) -> None:
        if not isinstance(stream, DataStream):
            raise PlanError(
                f"{call}() takes a DataStream, not {with_article(type(stream).__name__)}"
            )
        self._call, self._stream, self._site = call, stream, site
        self._where = {"stream": stream._describe(), "called": str(site)}
        self._function = self._check_function(function)

    def added(
        self,
        ordered: bool,
        timeout: TimeAmount,
        strategy: Any,
        capacity: int,
        output_type: TypeInformation | None,
        cache: LookupCache | None,
    ) -> DataStream:
        """Return the stream after the operator."""
        timeout_ms = milliseconds_of(timeout, "the timeout")
        spec = AsyncWaitSpec(
            self._function,
            ordered,
            timeout_ms,
            require_positive(capacity, "the capacity"),
            self._check_strategy(strategy, timeout_ms),
        )
        if cache is not None:
            spec = self._add_cache(spec, cache)
        return self._stream._add(spec, self._site, self._call, output_type)

    def _check_function(self, function: Any) -> UserFunction:
        """Check that a function is asynchronous, and return it as operators call it.

        Raises:
            WrongFunctionError: the function is not asynchronous.
            PlanError: the function uses keyed state.
        """
        if inspect.iscoroutinefunction(function) or (
            callable(function)
            and not hasattr(function, "async_invoke")
            and inspect.iscoroutinefunction(type(function).__call__)
        ):
            return UserFunction(function)
        name = type(function).__name__
        if isinstance(function, type) or not hasattr(function, "async_invoke"):
            made = f"make an object: {function.__name__}()" if isinstance(function, type) else None
            raise WrongFunctionError(
                f"{self._call}() takes an AsyncFunction or an 'async def' function, not "
                + (f"the class {function.__name__} itself" if made else with_article(name)),
                where=self._where,
                hint=made or "declare the function as 'async def'",
            )
        if not inspect.iscoroutinefunction(function.async_invoke):
            raise WrongFunctionError(
                f"async_invoke() of {name} is not declared as 'async def'", where=self._where
            )
        if inspect_function(function).keyed:
            raise PlanError(
                f"{name} uses keyed state or timers, which asynchronous functions do not have",
                where=self._where,
                hint="keep state in a KeyedProcessFunction before or after",
            )
        return UserFunction(function, "async_invoke")

    def _check_strategy(self, strategy: Any, timeout_ms: int) -> UserFunction | None:
        """Check a retry strategy, and return it; return None if there are no retries.

        Raises:
            PlanError: the object is not a retry strategy, or there is no timeout.
        """
        if strategy is NO_RETRY_STRATEGY:
            return None
        if not isinstance(strategy, AsyncRetryStrategy):
            raise PlanError(
                f"{self._call}() takes an AsyncRetryStrategy, not {strategy!r}",
                where=self._where,
                hint="AsyncRetryStrategy.fixed_delay(3, 100, None, has_exception_predicate)",
            )
        if timeout_ms <= 0:
            raise PlanError(
                f"{self._call}() needs a timeout above zero, which limits all attempts together",
                where=self._where,
            )
        if not isinstance(strategy.get_retry_predicate(), AsyncRetryPredicate):
            raise PlanError(
                f"get_retry_predicate() of {type(strategy).__name__} gave no AsyncRetryPredicate",
                where=self._where,
            )
        return UserFunction(strategy, "can_retry")

    def _add_cache(self, spec: AsyncWaitSpec, cache: Any) -> AsyncWaitSpec:
        if not isinstance(cache, LookupCache):
            raise PlanError(f"the cache must be a LookupCache, not {cache!r}", where=self._where)
        written, read = cache.expire_after_write, cache.expire_after_access
        limits = CacheLimits(
            cache.max_rows,
            None if written is None else milliseconds_of(written),
            None if read is None else milliseconds_of(read),
            cache.cache_missing_key,
        )
        key = None if cache.key is None else UserFunction(cache.key)
        join = None if cache.join is None else UserFunction(cache.join)
        return replace(spec, cache=limits, key=key, join=join)
