"""The triggers that the API brings along."""

from pyflink.common.time import Time
from pyflink.datastream import DataStream, StreamExecutionEnvironment, TriggerResult
from pyflink.datastream.window import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    NeverTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

from .common import FIVE_SECONDS, SESSIONS, Span, add, ordered, program, timed


@program(150, compare="ordered_by_key:0", parallelism=2)
def event_time_trigger_by_name(env: StreamExecutionEnvironment) -> DataStream:
    """The event-time trigger, named although it is the default."""
    events = [("a", 1, 1_000), ("b", 2, 6_000), ("a", 3, 4_999), ("a", 5, 12_000)]
    windowed = timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    return windowed.trigger(EventTimeTrigger.create()).process(Span())


@program(151, compare="ordered_by_key:0")
def continuous_event_time_trigger(env: StreamExecutionEnvironment) -> DataStream:
    """A continuous event-time trigger where all records lie in a window's last interval.

    The next time to fire is the end of the window, so each fires once, whenever the watermark
    comes.
    """
    events = [("a", 1, 8_000), ("a", 3, 9_500), ("b", 2, 8_600), ("a", 5, 18_000)]
    windowed = (
        timed(env, events)
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
    )
    return windowed.trigger(ContinuousEventTimeTrigger.of(Time.seconds(2))).process(Span())


EVERY_TWO_SECONDS = [
    ("a", 1, 500),
    ("a", 2, 2_500),
    ("a", 4, 4_500),
    ("a", 8, 6_500),
    ("b", 1, 8_200),
    ("a", 16, 18_500),
]


@program(152, compare="ordered_by_key:0", mode="streaming", watermarks="each record")
def continuous_event_time_trigger_streaming(env: StreamExecutionEnvironment) -> DataStream:
    """A continuous event-time trigger fires what a window holds so far, each two seconds.

    No watermark passes two times of one window at once: PyFlink in a process would leave one out.
    """
    windowed = (
        ordered(env, EVERY_TWO_SECONDS)
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
    )
    return windowed.trigger(ContinuousEventTimeTrigger.of(Time.seconds(2))).process(Span())


@program(
    153, compare="ordered_by_key:0", mode="streaming", watermarks="each record", python="thread"
)
def continuous_event_time_trigger_on_sessions(env: StreamExecutionEnvironment) -> DataStream:
    """A continuous event-time trigger on sessions: its next time is kept when sessions merge."""
    events = [("a", 1, 2_500), ("a", 2, 3_500), ("a", 4, 5_000), ("a", 8, 6_000), ("b", 1, 6_100)]
    windowed = (
        ordered(env, events)
        .key_by(lambda event: event[0])
        .window(EventTimeSessionWindows.with_gap(Time.seconds(2)))
    )
    return windowed.trigger(ContinuousEventTimeTrigger.of(Time.seconds(3))).process(Span())


@program(154, compare="ordered_by_key:0", mode="streaming", watermarks="each record")
def continuous_event_time_trigger_purged(env: StreamExecutionEnvironment) -> DataStream:
    """A continuous event-time trigger that purges: each firing shows what came since the last."""
    windowed = (
        ordered(env, EVERY_TWO_SECONDS)
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
    )
    purging = PurgingTrigger.of(ContinuousEventTimeTrigger.of(Time.seconds(2)))
    return windowed.trigger(purging).process(Span())


@program(155, compare="ordered_by_key:0")
def count_trigger_on_time_windows(env: StreamExecutionEnvironment) -> DataStream:
    """A count trigger on tumbling windows fires each two records, and not at the window's end."""
    events = [
        ("a", 1, 1_000),
        ("a", 2, 2_000),
        ("a", 4, 3_000),
        ("a", 8, 6_000),
        ("b", 16, 7_000),
        ("a", 32, 8_000),
    ]
    windowed = timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    return windowed.trigger(CountTrigger.of(2)).reduce(add)


@program(156, compare="multiset")
def count_trigger_on_sliding_windows(env: StreamExecutionEnvironment) -> DataStream:
    """A count trigger on sliding windows: each window counts by itself."""
    events = [
        ("a", 1, 1_000),
        ("a", 2, 2_000),
        ("a", 4, 6_000),
        ("a", 8, 7_000),
        ("b", 16, 7_000),
        ("a", 32, 8_000),
    ]
    windowed = (
        timed(env, events)
        .key_by(lambda event: event[0])
        .window(SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5)))
    )
    return windowed.trigger(CountTrigger.of(2)).process(Span())


@program(157, compare="ordered_by_key:0", mode="streaming", python="thread")
def count_trigger_on_sessions(env: StreamExecutionEnvironment) -> DataStream:
    """A count trigger on sessions: the counts of sessions that merge are added.

    In a process PyFlink 2.3 loses what a trigger has counted when two windows become one.
    """
    events = [
        ("a", 1, 0),
        ("a", 2, 8_000),
        ("a", 4, 4_000),
        ("a", 8, 4_500),
        ("a", 16, 30_000),
        ("b", 1, 0),
        ("b", 2, 1),
        ("b", 3, 2),
    ]
    windowed = timed(env, events).key_by(lambda event: event[0]).window(SESSIONS)
    return windowed.trigger(CountTrigger.of(3)).process(Span())


@program(158, compare="ordered_by_key:0")
def purging_count_trigger_on_time_windows(env: StreamExecutionEnvironment) -> DataStream:
    """A purging count trigger on tumbling windows: each firing shows two records."""
    events = [
        ("a", 1, 1_000),
        ("a", 2, 2_000),
        ("a", 4, 3_000),
        ("a", 8, 4_000),
        ("b", 16, 4_100),
        ("a", 32, 4_200),
        ("a", 64, 8_000),
    ]
    windowed = timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    return windowed.trigger(PurgingTrigger.of(CountTrigger.of(2))).process(Span())


@program(159, compare="ordered_by_key:0", parallelism=2)
def purging_event_time_trigger(env: StreamExecutionEnvironment) -> DataStream:
    """A purging event-time trigger gives what the event-time trigger gives if nothing is late."""
    events = [("a", 1, 1_000), ("b", 2, 6_000), ("a", 3, 4_999), ("a", 5, 12_000)]
    windowed = timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    return windowed.trigger(PurgingTrigger.of(EventTimeTrigger.create())).process(Span())


@program(160, compare="ordered_by_key:0")
def purging_trigger_on_sessions(env: StreamExecutionEnvironment) -> DataStream:
    """A purging event-time trigger on sessions that merge."""
    events = [("a", 1, 0), ("a", 2, 8_000), ("a", 4, 4_000), ("b", 8, 4_500), ("a", 16, 30_000)]
    windowed = timed(env, events).key_by(lambda event: event[0]).window(SESSIONS)
    return windowed.trigger(PurgingTrigger.of(EventTimeTrigger.create())).process(Span())


@program(161, compare="multiset")
def never_trigger_on_time_windows(env: StreamExecutionEnvironment) -> DataStream:
    """Time windows that never fire give nothing, at the end of the input neither."""
    windowed = (
        timed(env, [("a", 1, 1), ("b", 2, 9_999)])
        .key_by(lambda event: event[0])
        .window(FIVE_SECONDS)
    )
    return windowed.trigger(NeverTrigger()).reduce(add)


@program(173, compare="ordered", mode="streaming")
def trigger_results(env: StreamExecutionEnvironment) -> DataStream:
    """What the four results of a trigger say about themselves."""

    def say(name):
        result = TriggerResult[name]
        return name, result.is_fire(), result.is_purge()

    return env.from_collection(["CONTINUE", "FIRE_AND_PURGE", "FIRE", "PURGE"]).map(say)
