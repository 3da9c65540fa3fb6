"""Session windows by event time. ``SESSIONS`` have a gap of five seconds."""

from pyflink.common.time import Time
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.window import (
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    SessionWindowTimeGapExtractor,
)

from .common import SESSIONS, Span, Sum, add, program, timed


@program(111, compare="ordered_by_key:0", parallelism=2)
def session_gap(env: StreamExecutionEnvironment) -> DataStream:
    """A pause of the gap or longer ends a session; its start and end are part of the result."""
    events = [
        ("a", 1, 0),
        ("a", 2, 3_000),
        ("b", 3, 4_000),
        ("a", 4, 9_000),
        ("b", 5, 30_000),
        ("a", 6, 10_000),
    ]
    return timed(env, events).key_by(lambda event: event[0]).window(SESSIONS).process(Span())


@program(112, compare="ordered_by_key:0")
def session_gap_exactly(env: StreamExecutionEnvironment) -> DataStream:
    """Two records exactly one gap apart are one session; one millisecond more makes two."""
    events = [("a", 1, 0), ("a", 2, 5_000), ("b", 3, 0), ("b", 4, 5_001)]
    return timed(env, events).key_by(lambda event: event[0]).window(SESSIONS).process(Span())


@program(113, compare="ordered_by_key:0")
def session_joined_by_a_later_record(env: StreamExecutionEnvironment) -> DataStream:
    """A last record joins two sessions into one; another extends a session at its beginning."""
    events = [
        ("a", 1, 0),
        ("a", 2, 8_000),
        ("b", 3, 20_000),
        ("a", 4, 4_000),
        ("b", 5, 16_000),
        ("a", 6, 40_000),
    ]
    return timed(env, events).key_by(lambda event: event[0]).window(SESSIONS).process(Span())


@program(114, compare="multiset")
def session_aggregate_merges(env: StreamExecutionEnvironment) -> DataStream:
    """A session of accumulators grows at both ends."""
    events = [
        ("a", 1, 4_000),
        ("a", 2, 0),
        ("a", 4, 8_000),
        ("a", 8, 12_000),
        ("b", 16, 1),
        ("b", 32, 50_000),
    ]
    return timed(env, events).key_by(lambda event: event[0]).window(SESSIONS).aggregate(Sum())


@program(115, compare="multiset")
def session_reduce_joins_two(env: StreamExecutionEnvironment) -> DataStream:
    """A record joins two sessions that are reduced already.

    In a stream PyFlink 2.3 loses one of them. A batch reads the records of a key by their time, so
    that a session grows at its end only.
    """
    events = [
        ("a", 1, 0),
        ("a", 2, 8_000),
        ("a", 4, 12_000),
        ("a", 8, 4_000),
        ("b", 16, 1),
        ("b", 32, 50_000),
    ]
    return timed(env, events).key_by(lambda event: event[0]).window(SESSIONS).reduce(add)


class GapInSeconds(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return element[1] * 1_000


@program(116, compare="ordered_by_key:0")
def session_dynamic_gap(env: StreamExecutionEnvironment) -> DataStream:
    """Sessions whose gap each record brings along."""
    events = [
        ("a", 5, 0),
        ("a", 1, 4_000),
        ("a", 2, 6_000),
        ("b", 9, 0),
        ("b", 1, 8_000),
        ("b", 1, 9_500),
        ("a", 3, 20_000),
    ]
    windows = EventTimeSessionWindows.with_dynamic_gap(GapInSeconds())
    return timed(env, events).key_by(lambda event: event[0]).window(windows).process(Span())


class LongOrShortGap(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return 10_000 if element[1] > 5 else 1_000


@program(117, compare="multiset", parallelism=2)
def session_dynamic_class(env: StreamExecutionEnvironment) -> DataStream:
    """Dynamic sessions by the assigner's class: a short gap in a long one does not shorten it."""
    events = [
        ("a", 9, 0),
        ("a", 1, 2_000),
        ("a", 2, 9_000),
        ("b", 1, 0),
        ("b", 2, 1_001),
        ("b", 8, 1_500),
    ]
    windows = DynamicEventTimeSessionWindows.with_dynamic_gap(LongOrShortGap())
    return timed(env, events).key_by(lambda event: event[0]).window(windows).process(Span())


@program(118, compare="ordered_by_key:0")
def session_many_merges(env: StreamExecutionEnvironment) -> DataStream:
    """Records in falling order of time extend a session at its beginning; one ends up alone."""
    events = [("a", number, 30_000 - 2_000 * number) for number in range(10)] + [("a", 99, 50_000)]
    return (
        timed(env, events)
        .key_by(lambda event: event[0])
        .window(EventTimeSessionWindows.with_gap(Time.seconds(3)))
        .process(Span())
    )
