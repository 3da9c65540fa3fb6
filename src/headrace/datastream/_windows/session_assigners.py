"""Session windows: they end when no record came for the length of a gap."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from headrace.common._arguments import require_positive
from headrace.common._windows import TimeWindow
from headrace.common.time import TimeAmount, milliseconds_of
from headrace.datastream._windows.assigner import (
    MergingWindowAssigner,
    SessionWindowTimeGapExtractor,
)
from headrace.datastream._windows.assigners import (
    Context,
    EventTimeWindows,
    ProcessingTimeWindows,
    with_timestamp,
)
from headrace.errors import PlanError, WrongFunctionError


class _Sessions(MergingWindowAssigner[Any, TimeWindow]):
    """Assigns each record a window as long as the gap; windows that overlap or touch are merged."""

    merges_touching = True
    """True: ``merge_windows`` does the same as ``TimeWindow.merge_windows``."""

    def merge_windows(
        self,
        windows: Iterable[TimeWindow],
        callback: MergingWindowAssigner.MergeCallback[TimeWindow],
    ) -> None:
        """Merge windows that overlap or touch."""
        TimeWindow.merge_windows(windows, callback)


def _gap_ms(size: TimeAmount) -> int:
    return milliseconds_of(size, "the gap of a session")


class _FixedGap(_Sessions):
    def __init__(self, session_gap: int) -> None:
        self._session_gap = require_positive(session_gap, "the gap of a session (ms)")

    def _assign_session(self, start: int) -> list[TimeWindow]:
        return [TimeWindow(start, start + self._session_gap)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._session_gap})"


class _DynamicGap(_Sessions):
    def __init__(self, session_window_time_gap_extractor: SessionWindowTimeGapExtractor) -> None:
        self._session_gap = 0
        if not isinstance(session_window_time_gap_extractor, SessionWindowTimeGapExtractor):
            raise WrongFunctionError(
                "expected a SessionWindowTimeGapExtractor,"
                f" not {session_window_time_gap_extractor!r}",
                hint="derive a class from it, with extract(element), and give an object",
            )
        self._session_window_time_gap_extractor = session_window_time_gap_extractor

    def _assign_session(self, element: Any, start: int) -> list[TimeWindow]:
        return [TimeWindow(start, start + self._gap_of(element))]

    def _gap_of(self, element: Any) -> int:
        gap: int = self._session_window_time_gap_extractor.extract(element)
        self._session_gap = gap
        if gap <= 0:
            raise PlanError(
                f"the gap of a session must be more than 0 ms, not {gap!r}",
                hint="extract() of the SessionWindowTimeGapExtractor returned it",
            )
        return gap

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._session_gap})"


class EventTimeSessionWindows(_FixedGap, EventTimeWindows):
    """Session windows in event time with a fixed gap."""

    @property
    def gap(self) -> int:
        """The gap (ms)."""
        return self._session_gap

    @staticmethod
    def with_gap(size: TimeAmount) -> EventTimeSessionWindows:
        """Return an assigner of sessions that end after ``size`` without records."""
        return EventTimeSessionWindows(_gap_ms(size))

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor,
    ) -> DynamicEventTimeSessionWindows:
        """Return an assigner that computes the gap from each record."""
        return DynamicEventTimeSessionWindows(extractor)

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[TimeWindow]:
        """Return a window from the timestamp to one gap later."""
        return self._assign_session(with_timestamp(timestamp))


class ProcessingTimeSessionWindows(_FixedGap, ProcessingTimeWindows):
    """Session windows in processing time with a fixed gap."""

    @staticmethod
    def with_gap(size: TimeAmount) -> ProcessingTimeSessionWindows:
        """Return an assigner of sessions that end after ``size`` without records."""
        return ProcessingTimeSessionWindows(_gap_ms(size))

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor,
    ) -> DynamicProcessingTimeSessionWindows:
        """Return an assigner that computes the gap from each record."""
        return DynamicProcessingTimeSessionWindows(extractor)

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[TimeWindow]:
        """Return a window from the current processing time to one gap later."""
        return self._assign_session(context.get_current_processing_time())


class DynamicEventTimeSessionWindows(_DynamicGap, EventTimeWindows):
    """Session windows in event time; the gap is computed from each record."""

    @property
    def gap(self) -> Callable[[Any], int]:
        """The function that returns the gap (ms) of a record."""
        return self._gap_of

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor,
    ) -> DynamicEventTimeSessionWindows:
        """Return an assigner that computes the gap from each record."""
        return DynamicEventTimeSessionWindows(extractor)

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[TimeWindow]:
        """Return a window from the timestamp to the record's gap later."""
        return self._assign_session(element, with_timestamp(timestamp))


class DynamicProcessingTimeSessionWindows(_DynamicGap, ProcessingTimeWindows):
    """Session windows in processing time; the gap is computed from each record."""

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor,
    ) -> DynamicProcessingTimeSessionWindows:
        """Return an assigner that computes the gap from each record."""
        return DynamicProcessingTimeSessionWindows(extractor)

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[TimeWindow]:
        """Return a window from the current processing time to the record's gap later."""
        return self._assign_session(element, context.get_current_processing_time())
