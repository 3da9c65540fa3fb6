"""What fails in windows, while a program is built or while it runs."""

from pyflink.common.time import Time
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import (
    EventTimeSessionWindows,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

from .common import FIVE_SECONDS, Missing, add, program, timed


@program(250, compare="raises:Exception", mode="streaming")
def error_no_timestamps(env: StreamExecutionEnvironment) -> DataStream:
    """Event-time windows over records without timestamps fail."""
    keyed = env.from_collection([("a", 1, 2)]).key_by(lambda event: event[0])
    return keyed.window(FIVE_SECONDS).reduce(lambda left, right: left)


@program(251, compare="raises:Exception", mode="streaming")
def error_no_timestamps_sliding(env: StreamExecutionEnvironment) -> DataStream:
    """Sliding event-time windows over records without timestamps fail."""
    windows = SlidingEventTimeWindows.of(Time.seconds(5), Time.seconds(1))
    return (
        env.from_collection([("a", 1, 2)])
        .key_by(lambda event: event[0])
        .window(windows)
        .reduce(lambda left, right: left)
    )


@program(252, compare="raises:Exception", mode="streaming")
def error_offset_too_large(env: StreamExecutionEnvironment) -> DataStream:
    """An offset as long as the window is refused."""
    windows = TumblingEventTimeWindows.of(Time.seconds(5), Time.seconds(5))
    return timed(env, [("a", 1, 2)]).key_by(lambda event: event[0]).window(windows).reduce(add)


@program(253, compare="raises:Exception", mode="streaming")
def error_session_gap_of_zero(env: StreamExecutionEnvironment) -> DataStream:
    """A session gap of zero is refused."""
    windows = EventTimeSessionWindows.with_gap(Time.seconds(0))
    return timed(env, [("a", 1, 2)]).key_by(lambda event: event[0]).window(windows).reduce(add)


class Nothing(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return 0


@program(254, compare="raises:Exception", mode="streaming")
def error_dynamic_gap_of_zero(env: StreamExecutionEnvironment) -> DataStream:
    """A dynamic session gap of zero fails the job."""
    windows = EventTimeSessionWindows.with_dynamic_gap(Nothing())
    return timed(env, [("a", 1, 2)]).key_by(lambda event: event[0]).window(windows).reduce(add)


class Fail(ProcessWindowFunction):
    def process(self, key, context, elements):
        if key == "b":
            raise Missing(key)
        yield key


@program(255, compare="raises:LookupError")
def error_in_window_function(env: StreamExecutionEnvironment) -> DataStream:
    """An error of the user's own class in a window function fails the job."""
    stream = timed(env, [("a", 1, 2), ("b", 2, 3)])
    return stream.key_by(lambda event: event[0]).window(FIVE_SECONDS).process(Fail())


@program(256, compare="raises:ZeroDivisionError", mode="streaming")
def error_in_reduce_of_window(env: StreamExecutionEnvironment) -> DataStream:
    """An error in the reduce function of a window fails the job."""
    stream = timed(env, [("a", 1, 2), ("a", 0, 3)])
    windowed = stream.key_by(lambda event: event[0]).window(FIVE_SECONDS)
    return windowed.reduce(lambda left, right: (left[0], left[1] / right[1], 0))


@program(260, compare="raises:TypeError", mode="streaming")
def error_wrong_window_function(env: StreamExecutionEnvironment) -> DataStream:
    """A window function after reduce must be of one of the two kinds."""
    windowed = timed(env, [("a", 1, 2)]).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    return windowed.reduce(add, lambda key, window, inputs: inputs)


class Number(ProcessWindowFunction):
    def process(self, key, context, elements):
        return 1


@program(261, compare="raises:TypeError", mode="streaming")
def error_window_function_gives_no_iterable(env: StreamExecutionEnvironment) -> DataStream:
    """A window function that returns a number, which is nothing to iterate over, fails the job."""
    stream = timed(env, [("a", 1, 2)])
    return stream.key_by(lambda event: event[0]).window(FIVE_SECONDS).process(Number())
