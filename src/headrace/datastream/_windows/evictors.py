"""Evictors: they remove records from a window before or after its function is called.

PyFlink has none; these are those of Flink's Java API. In Java an evictor calls ``remove`` on an
iterator. Here ``elements`` is a list: an evictor removes records from it, and the rest is kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from headrace.common._arguments import require_at_least
from headrace.common._windows import TimestampedValue
from headrace.common.time import TimeAmount, milliseconds_of
from headrace.metrics import MetricGroup

T = TypeVar("T")
W = TypeVar("W")


class Evictor(ABC, Generic[T, W]):
    """Removes records from a window that fires."""

    class EvictorContext(ABC):
        """The clocks and metrics while a window fires."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The processing time (ms)."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """The watermark (ms)."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """The operator's metrics."""

    @abstractmethod
    def evict_before(
        self,
        elements: list[TimestampedValue],
        size: int,
        window: W,
        evictor_context: Evictor.EvictorContext,
    ) -> None:
        """Remove records from ``elements``, of length ``size``, before the function is called."""

    @abstractmethod
    def evict_after(
        self,
        elements: list[TimestampedValue],
        size: int,
        window: W,
        evictor_context: Evictor.EvictorContext,
    ) -> None:
        """Remove records from ``elements``, of length ``size``, after the function was called."""


class _BeforeOrAfter(Evictor[Any, Any]):
    """Evicts once: before the function, or after it."""

    _after: bool

    def _evict(self, elements: list[TimestampedValue]) -> None:
        raise NotImplementedError

    def evict_before(
        self, elements: list[TimestampedValue], size: int, window: Any, evictor_context: Any
    ) -> None:
        """Evict, unless it is to be done after the function."""
        if not self._after:
            self._evict(elements)

    def evict_after(
        self, elements: list[TimestampedValue], size: int, window: Any, evictor_context: Any
    ) -> None:
        """Evict, if it is to be done after the function."""
        if self._after:
            self._evict(elements)


class CountEvictor(_BeforeOrAfter):
    """Keeps the last ``max_count`` records."""

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:
        self._max_count = require_at_least(max_count, 0, "the count of a CountEvictor")
        self._after = do_evict_after

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor:
        """The evictor that keeps ``max_count`` records."""
        return CountEvictor(max_count, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        del elements[: max(len(elements) - self._max_count, 0)]

    def __repr__(self) -> str:
        return f"CountEvictor({self._max_count})"


class TimeEvictor(_BeforeOrAfter):
    """Keeps the records that are older than the latest one by less than a span of time."""

    def __init__(self, window_size: int, do_evict_after: bool = False) -> None:
        self._window_size = window_size
        self._after = do_evict_after

    @staticmethod
    def of(window_size: TimeAmount, do_evict_after: bool = False) -> TimeEvictor:
        """The evictor that keeps a span of ``window_size``."""
        span_ms = milliseconds_of(window_size, "the span of a TimeEvictor")
        return TimeEvictor(span_ms, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        if not elements or not elements[0].has_timestamp():
            return
        cutoff = max(one.get_timestamp() for one in elements) - self._window_size
        elements[:] = [one for one in elements if one.get_timestamp() > cutoff]

    def __repr__(self) -> str:
        return f"TimeEvictor({self._window_size})"


class DeltaEvictor(_BeforeOrAfter):
    """Keeps the records whose distance from the last one is below a threshold."""

    def __init__(
        self,
        threshold: float,
        delta_function: Callable[[Any, Any], float],
        do_evict_after: bool = False,
    ) -> None:
        self._threshold = threshold
        self._delta = delta_function
        self._after = do_evict_after

    @staticmethod
    def of(
        threshold: float,
        delta_function: Callable[[Any, Any], float],
        do_evict_after: bool = False,
    ) -> DeltaEvictor:
        """The evictor; ``delta_function(old, new)`` gives the distance of two records."""
        return DeltaEvictor(threshold, delta_function, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        if not elements:
            return
        delta, last = self._delta, elements[-1].get_value()
        elements[:] = [one for one in elements if delta(one.get_value(), last) < self._threshold]

    def __repr__(self) -> str:
        return f"DeltaEvictor({self._delta}, {self._threshold})"
