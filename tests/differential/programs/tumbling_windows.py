"""Tumbling windows by event time."""

from pyflink.common.time import Time
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.window import TumblingEventTimeWindows

from .common import FIVE_SECONDS, Span, add, program, timed


@program(100, compare="multiset", parallelism=2)
def tumbling_reduce(env: StreamExecutionEnvironment) -> DataStream:
    """Tumbling event-time windows, reduced, over records out of order.

    Sum and maximum do not depend on the order within a window, and nothing is late: the watermark
    stays a minute below the newest time.
    """
    events = [
        ("a", 1, 1_000),
        ("b", 2, 6_000),
        ("a", 3, 4_999),
        ("b", 4, 2_000),
        ("a", 5, 12_000),
        ("a", 6, 3),
    ]
    return timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS).reduce(add)


@program(101, compare="ordered_by_key:0", parallelism=2)
def tumbling_offset(env: StreamExecutionEnvironment) -> DataStream:
    """Windows with an offset: borders stand at 1 s, 6 s, 11 s. A key's windows come in order."""
    events = [
        ("a", 1, 0),
        ("a", 2, 999),
        ("a", 3, 1_000),
        ("b", 4, 5_999),
        ("b", 5, 6_000),
        ("a", 6, 11_000),
    ]
    windows = TumblingEventTimeWindows.of(Time.seconds(5), Time.seconds(1))
    return timed(env, events).key_by(lambda event: event[0]).window(windows).process(Span())


@program(102, compare="ordered_by_key:0")
def tumbling_before_1970(env: StreamExecutionEnvironment) -> DataStream:
    """Timestamps below zero fall into windows that begin below zero, not into the one at zero."""
    events = [
        ("a", 1, -1),
        ("a", 2, -5_000),
        ("a", 3, -5_001),
        ("a", 4, 0),
        ("b", 5, -12_345),
        ("b", 6, 4_999),
    ]
    return timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS).process(Span())


@program(103, compare="ordered_by_key:0")
def tumbling_days_of_a_time_zone(env: StreamExecutionEnvironment) -> DataStream:
    """Days that begin at midnight eight hours east of Greenwich: a negative offset."""
    hour = 3_600_000
    events = [
        ("b", 5, 0),
        ("a", 1, 15 * hour),
        ("a", 2, 16 * hour - 1),
        ("a", 3, 16 * hour),
        ("a", 4, 40 * hour),
    ]
    days = TumblingEventTimeWindows.of(Time.days(1), Time.hours(-8))
    return timed(env, events).key_by(lambda event: event[0]).window(days).process(Span())


@program(104, compare="ordered_by_key:0")
def tumbling_borders(env: StreamExecutionEnvironment) -> DataStream:
    """Elements exactly at borders: a window holds its start and not its end."""
    events = [
        ("a", number, at)
        for number, at in enumerate([0, 4_999, 5_000, 5_001, 9_999, 10_000, 15_000])
    ]
    return timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS).process(Span())
