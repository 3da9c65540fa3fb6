"""Timestamps and watermarks: who gives them, and what carries them on."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    DataStream,
    KeyedProcessFunction,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.functions import ProcessWindowFunction, WindowFunction
from pyflink.datastream.window import CountTrigger, EventTimeSessionWindows, GlobalWindows

from .common import FIVE_SECONDS, SESSIONS, Last, Span, add, ordered, program, timed


class Thousandfold(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value * 1000


class Again(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return record_timestamp + 1


class Stamp(ProcessFunction):
    def process_element(self, value, ctx):
        yield value, ctx.timestamp()


@program(59, compare="ordered")
def timestamps(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """ctx.timestamp() with an assigner, before and after a map and a filter, and without any."""
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5))
    later = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Again())
    source = env.from_collection([3, 1, 2])
    stamped = source.assign_timestamps_and_watermarks(
        bounded.with_timestamp_assigner(Thousandfold())
    )
    again = stamped.assign_timestamps_and_watermarks(later)
    thrice = stamped.flat_map(lambda value: [value, value, value])
    return {
        "stamped": stamped.process(Stamp()),
        "after_map": stamped.map(lambda value: -value).filter(lambda value: True).process(Stamp()),
        "after_flat_map": stamped.flat_map(lambda value: [value, value]).process(Stamp()),
        "again": again.process(Stamp()),
        "again_after_flat_map": thrice.assign_timestamps_and_watermarks(later).process(Stamp()),
        "never": source.process(Stamp()),
    }


class ElementAndTimer(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1] + 500)
        yield "element", value[1]

    def on_timer(self, timestamp, ctx):
        yield "timer", timestamp


class StampFields(ProcessFunction):
    def process_element(self, value, ctx):
        yield (*value, ctx.timestamp())


@program(60, compare="multiset")
def timestamp_of_timer_output(env: StreamExecutionEnvironment) -> DataStream:
    """What a timer gives out carries the time of the timer; what an element gives out, its own."""
    return (
        ordered(env, [("a", 10), ("b", 20)])
        .key_by(lambda pair: pair[0])
        .process(ElementAndTimer())
        .process(StampFields())
    )


class StampTotal(ProcessFunction):
    def process_element(self, value, ctx):
        yield value[0], value[1], ctx.timestamp()


@program(205, compare="ordered_by_key:0", mode="streaming")
def timestamps_of_window_results(env: StreamExecutionEnvironment) -> DataStream:
    """A result of a window carries the last millisecond of its window as its timestamp."""
    events = [("a", 1, 1_000), ("b", 2, 6_000), ("a", 3, 4_999), ("a", 5, 12_000)]
    windowed = timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    return windowed.reduce(add).process(StampTotal())


class Twice(WindowFunction):
    def apply(self, key, window, inputs):
        count = len(list(inputs))
        yield key, "first", count
        yield key, "second", count


@program(206, compare="ordered_by_key:0", mode="streaming")
def timestamps_of_session_results(env: StreamExecutionEnvironment) -> DataStream:
    """The timestamp of a session's result, and of each of several results of one window."""
    events = [("a", 1, 0), ("a", 2, 8_000), ("a", 4, 4_000), ("b", 8, 4_500), ("a", 16, 30_000)]
    windowed = timed(env, events).key_by(lambda event: event[0]).window(SESSIONS)
    return windowed.apply(Twice()).process(StampFields())


@program(207, compare="ordered_by_key:0", mode="streaming")
def timestamps_of_count_window_results(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """The timestamps of results of count windows and of global windows."""
    events = [("a", 1, 1_000), ("b", 2, 6_000), ("a", 3, 4_999), ("b", 5, 12_000)]

    def keyed():
        return timed(env, events).key_by(lambda event: event[0])

    global_windows = keyed().window(GlobalWindows.create()).trigger(CountTrigger.of(2))
    return {
        "count": keyed().count_window(2).reduce(add).process(StampTotal()),
        "global": global_windows.reduce(add).process(StampTotal()),
    }


class Minutes(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value * 60_000


@program(69, compare="multiset")
def source_watermark_strategy(env: StreamExecutionEnvironment) -> DataStream:
    """A watermark strategy with a timestamp assigner handed to from_source."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Minutes())
    numbers = env.from_source(NumberSequenceSource(1, 5), strategy, "numbers", Types.LONG())
    return numbers.process(Stamp())


class TenSecondsEach(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return record_timestamp + value[1] * 10_000


@program(224, compare="ordered_by_key:0", mode="streaming")
def timestamps_taken_twice(env: StreamExecutionEnvironment) -> DataStream:
    """A second strategy replaces timestamps and watermarks of the first."""
    events = [("a", 1, 1_000), ("a", 2, 1_500), ("b", 1, 2_000), ("a", 3, 2_500)]
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    again = timed(env, events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(TenSecondsEach())
    )
    return again.key_by(lambda event: event[0]).window(FIVE_SECONDS).process(Span())


class WithWatermark(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value[0], value[1], ctx.timer_service().current_watermark()


@program(68, compare="ordered_by_key:0", mode="batch")
def batch_order_by_timestamp(env: StreamExecutionEnvironment) -> DataStream:
    """Within a key, batch mode hands records over in the order of their timestamps."""
    return (
        timed(env, [("b", 5), ("a", 9), ("a", 3), ("b", 1), ("a", 6), ("a", -2)], seconds=1)
        .key_by(lambda pair: pair[0])
        .process(WithWatermark())
    )


@program(222, compare="ordered_by_key:0")
def union_then_one_strategy(env: StreamExecutionEnvironment) -> DataStream:
    """A union whose timestamps are taken after it.

    How the two streams interleave does not matter: the watermark stays a minute below.
    """
    left = [("a", 1, 1_000), ("b", 2, 6_000), ("a", 3, 4_999)]
    right = [("a", 10, 2_000), ("b", 20, 7_000), ("c", 30, 14_000)]
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    both = env.from_collection(left).union(env.from_collection(right))
    stamped = both.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(Last()))
    return (
        stamped.key_by(lambda event: event[0])
        .window(EventTimeSessionWindows.with_gap(Time.seconds(3)))
        .process(Span())
    )


@program(248, compare="ordered_by_key:0")
def strategy_with_idleness(env: StreamExecutionEnvironment) -> DataStream:
    """A strategy with an idle timeout of an hour: the end of the input comes first."""
    events = [("a", 1, 1_000), ("b", 2, 6_000), ("a", 3, 4_999), ("a", 4, 12_000)]
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    strategy = bounded.with_idleness(Duration.of_hours(1)).with_timestamp_assigner(Last())
    stamped = env.from_collection(events).assign_timestamps_and_watermarks(strategy)
    return stamped.key_by(lambda event: event[0]).window(FIVE_SECONDS).process(Span())


@program(249, compare="ordered_by_key:0")
def window_without_watermarks(env: StreamExecutionEnvironment) -> DataStream:
    """Timestamps without watermarks: the end of the input is the one watermark."""
    events = [("a", 1, 99_000), ("b", 2, 6_000), ("a", 3, 4_999), ("a", 4, 12_000)]
    stream = env.from_collection(events)
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(Last())
    keyed = stream.assign_timestamps_and_watermarks(strategy).key_by(lambda event: event[0])
    return keyed.window(FIVE_SECONDS).process(Span())


class WatermarkOfWindow(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, context.window().end, context.current_watermark()


@program(239, compare="ordered_by_key:0", mode="streaming", watermarks="each record")
def watermark_in_window_functions(env: StreamExecutionEnvironment) -> DataStream:
    """A window function sees the watermark of the record that closed its window."""
    events = [
        ("a", 1, 1_000),
        ("b", 2, 3_000),
        ("a", 4, 6_000),
        ("a", 8, 12_345),
        ("b", 16, 15_000),
        ("b", 32, 15_001),
    ]
    return (
        ordered(env, events)
        .key_by(lambda event: event[0])
        .window(FIVE_SECONDS)
        .process(WatermarkOfWindow())
    )


EVENTS = [("a", 1, 1_000), ("a", 2, 3_000), ("a", 4, 2_000), ("a", 8, 12_345), ("a", 16, 0)]


class WatermarkOfRecord(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value[1], ctx.timestamp(), ctx.timer_service().current_watermark()


@program(240, compare="ordered", mode="streaming", watermarks="each record")
def watermark_bounded(env: StreamExecutionEnvironment) -> DataStream:
    """Bounded disorder: the watermark is the greatest time less the bound and a millisecond."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(500))
    stream = env.from_collection(EVENTS)
    stamped = stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(Last()))
    return stamped.key_by(lambda event: event[0]).process(WatermarkOfRecord())


@program(241, compare="ordered", mode="streaming", watermarks="each record")
def watermark_monotonous(env: StreamExecutionEnvironment) -> DataStream:
    """Monotonous timestamps: the watermark is the greatest time less a millisecond.

    It never falls.
    """
    return ordered(env, EVENTS).key_by(lambda event: event[0]).process(WatermarkOfRecord())
