"""The time of windows: event time or processing time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common.watermark_strategy import MAX_WATERMARK
from headrace.operators.columns.window_zones import LocalTime
from headrace.operators.windows.windowing import missing_timestamp_error
from headrace.runtime.operator import Traits
from headrace.runtime.state.backend import Timer
from headrace.runtime.state.handles import KeyContext

if TYPE_CHECKING:
    import numpy as np

    from headrace.runtime.columns.batch import Columns

    Array = np.ndarray[Any, Any]


def event_times(columns: Columns) -> Array:
    """Return the timestamps of rows.

    Raises:
        MissingWatermarksError: a row has none.
    """
    if columns.times is None or columns.times.null_count:
        raise missing_timestamp_error()
    times: Array = columns.times.to_numpy()
    return times


def traits_of_windows(processing_time: bool, *, timers: bool, at_intervals: bool = False) -> Traits:
    """Return the traits of an operator over columns: by the clock it needs no watermarks.

    ``timers``: whether windows have timers; ``at_intervals``: whether they give results by the
    clock, besides at their end.
    """
    return Traits(
        keyed=True,
        state=True,
        event_timers=timers and not processing_time,
        processing_timers=processing_time or at_intervals,
        event_time=not processing_time,
        takes_columns=True,
        gives_columns=True,
    )


def kind_of_windows(kind: str, processing_time: bool) -> str:
    """Return the kind of an operator in checkpoints."""
    return f"processing-time-{kind}" if processing_time else kind


@dataclass(frozen=True)
class WindowTime:
    """The time of windows that have timers.

    ``processing_time``: the time of a row is that of its micro-batch, and all earlier milliseconds
    are over. ``local``: windows are in local time.
    """

    processing_time: bool
    local: LocalTime | None

    def of_rows(self, columns: Columns, context: KeyContext) -> Array:
        """Return the time of each row."""
        import numpy as np

        if self.processing_time:
            return np.full(len(columns), context.now_ms, np.int64)
        return event_times(columns)

    def reached(self, context: KeyContext) -> int:
        """Return up to which time, inclusively, windows have ended."""
        return self._localized(context.now_ms - 1 if self.processing_time else context.watermark)

    def reached_by(self, timer: Timer) -> int:
        """Return up to which time, inclusively, windows have ended when a timer is due."""
        return self._localized(timer.time_ms - self.processing_time)

    def _localized(self, progress: int) -> int:
        return progress if self.local is None else self.local.reached(progress)

    def due(self, last: int) -> int:
        """Return the time of the timer that ends a window; ``last``: the last millisecond in it."""
        over = last if self.local is None else self.local.over_at(last)
        return min(over + self.processing_time, MAX_WATERMARK)

    def set_timer(self, due: int, key: Any, context: KeyContext) -> None:
        """Set a timer of a key."""
        backend = context.backend
        timers = backend.processing_timers if self.processing_time else backend.event_timers
        timers.register(Timer(due, key))
