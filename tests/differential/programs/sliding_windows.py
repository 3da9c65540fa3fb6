"""Sliding windows by event time."""

from pyflink.common.time import Time
from pyflink.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from pyflink.datastream.window import SlidingEventTimeWindows

from .common import Span, add, program, timed


@program(105, compare="multiset", parallelism=2)
def sliding_reduce(env: StreamExecutionEnvironment) -> DataStream:
    """Sliding event-time windows, reduced: an element counts in each window that covers it."""
    events = [("a", 1, 1_000), ("b", 2, 6_000), ("a", 3, 4_999), ("a", 5, 12_000), ("b", 6, 11_000)]
    windows = SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5))
    return timed(env, events).key_by(lambda event: event[0]).window(windows).reduce(add)


@program(106, compare="ordered_by_key:0")
def sliding_windows_of_an_element(env: StreamExecutionEnvironment) -> DataStream:
    """The windows of one element, among them one that begins before zero."""
    windows = SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(3))
    return (
        timed(env, [("a", 1, 5), ("b", 2, 0), ("b", 3, 9)])
        .key_by(lambda event: event[0])
        .window(windows)
        .process(Span())
    )


@program(107, compare="ordered_by_key:0", parallelism=2)
def sliding_offset(env: StreamExecutionEnvironment) -> DataStream:
    """Sliding windows with an offset."""
    events = [("a", 1, 0), ("a", 2, 1_000), ("b", 3, 5_999), ("b", 4, 6_000), ("a", 5, 11_000)]
    windows = SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5), Time.seconds(1))
    return timed(env, events).key_by(lambda event: event[0]).window(windows).process(Span())


@program(108, compare="ordered_by_key:0")
def sliding_size_is_no_multiple(env: StreamExecutionEnvironment) -> DataStream:
    """A slide that does not divide the size."""
    events = [("a", number, 700 * number) for number in range(8)]
    windows = SlidingEventTimeWindows.of(Time.milliseconds(2_500), Time.seconds(1))
    return timed(env, events).key_by(lambda event: event[0]).window(windows).process(Span())


@program(109, compare="ordered_by_key:0")
def sliding_with_gaps(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """A slide longer than the size: what falls between two windows is in none, and not late."""
    late = OutputTag("late")
    events = [
        ("a", 1, 0),
        ("a", 2, 3_999),
        ("a", 3, 4_000),
        ("a", 4, 9_999),
        ("a", 5, 10_000),
        ("b", 6, 7_000),
    ]
    windows = SlidingEventTimeWindows.of(Time.seconds(4), Time.seconds(10))
    main = (
        timed(env, events)
        .key_by(lambda event: event[0])
        .window(windows)
        .side_output_late_data(late)
        .process(Span())
    )
    return {"main": main, "late": main.get_side_output(late)}


@program(110, compare="ordered_by_key:0")
def sliding_before_1970(env: StreamExecutionEnvironment) -> DataStream:
    """Sliding windows over timestamps below zero."""
    events = [("a", 1, -1), ("a", 2, -5_000), ("a", 3, -5_001), ("a", 4, 0), ("b", 5, -12_345)]
    windows = SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5))
    return timed(env, events).key_by(lambda event: event[0]).window(windows).process(Span())
