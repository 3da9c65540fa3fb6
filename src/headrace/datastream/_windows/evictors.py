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
        """The clocks and the metric group of an evictor."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the processing time (ms)."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """Return the watermark (ms)."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """Return the operator's metric group."""

    @abstractmethod
    def evict_before(
        self,
        elements: list[TimestampedValue],
        size: int,
        window: W,
        evictor_context: Evictor.EvictorContext,
    ) -> None:
        """Remove records from the list ``elements`` before the function is called.

        ``size`` is the length of the list.
        """

    @abstractmethod
    def evict_after(
        self,
        elements: list[TimestampedValue],
        size: int,
        window: W,
        evictor_context: Evictor.EvictorContext,
    ) -> None:
        """Remove records from the list ``elements`` after the function was called.

        ``size`` is the length of the list.
        """


class _BeforeOrAfter(Evictor[Any, Any]):
    """Removes records either before or after the function is called."""

    _after: bool

    def _evict(self, elements: list[TimestampedValue]) -> None:
        raise NotImplementedError

    def evict_before(
        self, elements: list[TimestampedValue], size: int, window: Any, evictor_context: Any
    ) -> None:
        """Remove records, unless ``do_evict_after`` was set."""
        if not self._after:
            self._evict(elements)

    def evict_after(
        self, elements: list[TimestampedValue], size: int, window: Any, evictor_context: Any
    ) -> None:
        """Remove records, if ``do_evict_after`` was set."""
        if self._after:
            self._evict(elements)


class CountEvictor(_BeforeOrAfter):
    """Keeps the last ``max_count`` records."""

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:
        self._max_count = require_at_least(max_count, 0, "the count of a CountEvictor")
        self._after = do_evict_after

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor:
        """Return an evictor that keeps the last ``max_count`` records."""
        return CountEvictor(max_count, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        del elements[: max(len(elements) - self._max_count, 0)]

    def __repr__(self) -> str:
        return f"CountEvictor({self._max_count})"


class TimeEvictor(_BeforeOrAfter):
    """Keeps the records whose timestamp is less than ``window_size`` before the latest one."""

    def __init__(self, window_size: int, do_evict_after: bool = False) -> None:
        self._window_size = window_size
        self._after = do_evict_after

    @staticmethod
    def of(window_size: TimeAmount, do_evict_after: bool = False) -> TimeEvictor:
        """Return an evictor that keeps records less than ``window_size`` before the latest one."""
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
        """Return the evictor; ``delta_function(old, new)`` returns the distance of two records."""
        return DeltaEvictor(threshold, delta_function, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        if not elements:
            return
        delta, last = self._delta, elements[-1].get_value()
        elements[:] = [one for one in elements if delta(one.get_value(), last) < self._threshold]

    def __repr__(self) -> str:
        return f"DeltaEvictor({self._delta}, {self._threshold})"
