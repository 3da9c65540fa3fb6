"""Windows and triggers by processing time, so far off that the clock does not matter."""

from pyflink.common.time import Time
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import (
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    DynamicProcessingTimeSessionWindows,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    SessionWindowTimeGapExtractor,
    SlidingProcessingTimeWindows,
    TumblingProcessingTimeWindows,
)

from .common import FIVE_SECONDS, Sum, add, program, timed


@program(130, compare="multiset")
def processing_time_windows_in_a_batch(env: StreamExecutionEnvironment) -> DataStream:
    """One processing-time window that holds any time of this century.

    A batch fires it at the end of each key; a bounded stream ends before it is due, and gives
    nothing.
    """
    events = [("a", 1), ("b", 2), ("a", 3), ("b", 4)]
    windows = TumblingProcessingTimeWindows.of(Time.days(36_500))
    return (
        env.from_collection(events)
        .key_by(lambda event: event[0])
        .window(windows)
        .reduce(lambda left, right: (left[0], left[1] + right[1]))
    )


class Spans(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, sorted(value for _, value in elements)


@program(131, compare="multiset", mode="batch")
def processing_time_sliding_in_a_batch(env: StreamExecutionEnvironment) -> DataStream:
    """Two processing-time windows so long that the clock does not matter."""
    windows = SlidingProcessingTimeWindows.of(Time.days(73_000), Time.days(36_500))
    return (
        env.from_collection([("a", 1), ("b", 2), ("a", 3)])
        .key_by(lambda event: event[0])
        .window(windows)
        .process(Spans())
    )


@program(132, compare="multiset", mode="batch")
def processing_time_session_in_a_batch(env: StreamExecutionEnvironment) -> DataStream:
    """Processing-time sessions with a gap of a day: all records of a key are one session."""
    events = [("a", 1), ("b", 2), ("a", 3), ("a", 5)]
    keyed = env.from_collection(events).key_by(lambda event: event[0])
    return keyed.window(ProcessingTimeSessionWindows.with_gap(Time.days(1))).aggregate(Sum())


class Days(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return element[1] * 86_400_000


@program(133, compare="multiset", mode="batch")
def processing_time_dynamic_session_in_a_batch(env: StreamExecutionEnvironment) -> DataStream:
    """Dynamic processing-time sessions, with gaps of days."""
    events = [("a", 1), ("b", 2), ("a", 3), ("a", 5)]
    keyed = env.from_collection(events).key_by(lambda event: event[0])
    sessions = DynamicProcessingTimeSessionWindows.with_dynamic_gap(Days())
    return keyed.window(sessions).aggregate(Sum())


@program(134, compare="ordered_by_key:0")
def processing_time_windows_with_count_trigger(env: StreamExecutionEnvironment) -> DataStream:
    """Processing-time windows with a count trigger: records fire, and the clock does not."""
    events = [("a", 1), ("b", 2), ("a", 3), ("b", 4), ("a", 5), ("a", 7)]
    windowed = (
        env.from_collection(events)
        .key_by(lambda event: event[0])
        .window(TumblingProcessingTimeWindows.of(Time.days(36_500)))
    )
    fired = windowed.trigger(CountTrigger.of(2))
    return fired.reduce(lambda left, right: (left[0], left[1] + right[1]))


@program(175, compare="multiset", mode="streaming")
def continuous_processing_time_trigger(env: StreamExecutionEnvironment) -> DataStream:
    """A continuous processing-time trigger whose first time is after the end of the input."""
    keyed = env.from_collection([("a", 1), ("b", 2), ("a", 3)]).key_by(lambda event: event[0])
    windowed = keyed.window(TumblingProcessingTimeWindows.of(Time.days(36_500)))
    trigger = ContinuousProcessingTimeTrigger.of(Time.days(10_000))
    return windowed.trigger(trigger).reduce(lambda left, right: (left[0], left[1] + right[1]))


@program(171, compare="multiset", mode="streaming")
def processing_time_trigger_on_event_time_windows(env: StreamExecutionEnvironment) -> DataStream:
    """A processing-time trigger on event-time windows that lie in the future.

    The input ends before they are due, and nothing fires.
    """
    far = 4_000_000_000_000
    events = timed(env, [("a", 1, far), ("a", 2, far + 1), ("b", 3, far)])
    keyed = events.key_by(lambda event: event[0])
    return keyed.window(FIVE_SECONDS).trigger(ProcessingTimeTrigger.create()).reduce(add)
