"""Timers by event time and by processing time."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import (
    ListStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)

from .common import ordered, program, timed


class TimerLater(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1] + 1_000_000)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp, ctx.timestamp(), ctx.time_domain().name


@program(51, compare="ordered_by_key:0", parallelism=2)
def event_time_timers(env: StreamExecutionEnvironment) -> DataStream:
    """An event-time timer for every record: each fires once, per key in the order of its time."""
    return (
        ordered(env, [("a", 10), ("b", 20), ("a", 30), ("c", 30), ("b", 40)])
        .key_by(lambda pair: pair[0])
        .process(TimerLater())
    )


class TimersTwice(KeyedProcessFunction):
    def process_element(self, value, ctx):
        for time in (900_000, 700_000, 900_000, 800_000, 700_000):
            ctx.timer_service().register_event_time_timer(time)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp


@program(52, compare="ordered_by_key:0")
def timer_registered_twice(env: StreamExecutionEnvironment) -> DataStream:
    """A timer registered twice for one time fires once; several times of a key fire in order."""
    return (
        ordered(env, [("a", 1), ("b", 2), ("a", 3)])
        .key_by(lambda pair: pair[0])
        .process(TimersTwice())
    )


class Second(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Cancel(KeyedProcessFunction):
    def process_element(self, value, ctx):
        timers = ctx.timer_service()
        if value[2] == "start":
            timers.register_event_time_timer(800_000)
            timers.register_event_time_timer(900_000)
        elif value[2] == "stop":
            timers.delete_event_time_timer(800_000)
            timers.delete_event_time_timer(123)
            timers.delete_processing_time_timer(456)
        elif value[2] == "restart":
            timers.register_event_time_timer(800_000)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp


@program(53, compare="ordered_by_key:0", parallelism=2)
def timer_deleted(env: StreamExecutionEnvironment) -> DataStream:
    """A deleted timer does not fire; deleting one that was never registered is nothing."""
    events = [
        ("a", 1, "start"),
        ("b", 2, "start"),
        ("c", 3, "start"),
        ("a", 4, "stop"),
        ("c", 5, "stop"),
        ("d", 6, "stop"),
        ("c", 7, "restart"),
    ]
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    stream = env.from_collection(events).assign_timestamps_and_watermarks(strategy)
    return stream.key_by(lambda item: item[0]).process(Cancel())


class Ticks(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1] + 1_000_000)

    def on_timer(self, timestamp, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), timestamp, count
        if count < 5:
            ctx.timer_service().register_event_time_timer(timestamp + 10)


@program(54, compare="ordered_by_key:0", parallelism=2)
def timers_register_timers(env: StreamExecutionEnvironment) -> DataStream:
    """A timer that registers the next one, five times over, with its count in state."""
    return ordered(env, [("a", 1), ("b", 2)]).key_by(lambda pair: pair[0]).process(Ticks())


class Back(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(1_000_000)
        ctx.timer_service().register_event_time_timer(2_000_000)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp
        if timestamp == 1_000_000:
            ctx.timer_service().register_event_time_timer(5)
            ctx.timer_service().register_event_time_timer(3)
        elif timestamp == 5:
            ctx.timer_service().register_event_time_timer(-7)


@program(55, compare="multiset")
def timer_in_the_past(env: StreamExecutionEnvironment) -> DataStream:
    """A timer that registers one behind the watermark: it fires too, with its own time.

    PyFlink's process mode fires first what was due before, its thread mode goes back in time at
    once.
    """
    return ordered(env, [("a", 10), ("b", 20)]).key_by(lambda pair: pair[0]).process(Back())


GREATEST = 2**63 - 1


class AtTheEnd(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(GREATEST)
        ctx.timer_service().register_event_time_timer(GREATEST - 1)
        yield value[0], "element", value[1]

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), "timer", timestamp, ctx.timer_service().current_watermark()


@program(56, compare="ordered_by_key:0")
def timer_at_the_end(env: StreamExecutionEnvironment) -> DataStream:
    """Timers at the greatest time and just before it fire at the end of a bounded input."""
    return (
        ordered(env, [("a", 10), ("b", 20), ("a", 30)])
        .key_by(lambda pair: pair[0])
        .process(AtTheEnd())
    )


class Wait(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1])
        yield value[0], "element", ctx.timer_service().current_watermark()

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), "timer", timestamp


@program(57, compare="ordered_by_key:0")
def timers_without_watermarks(env: StreamExecutionEnvironment) -> DataStream:
    """Event-time timers without a watermark strategy fire at the end of a bounded input."""
    return (
        env.from_collection([("a", 10), ("b", 20), ("a", -30)])
        .assign_timestamps_and_watermarks(WatermarkStrategy.no_watermarks())
        .key_by(lambda pair: pair[0])
        .process(Wait())
    )


class Gather(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.times = runtime_context.get_list_state(ListStateDescriptor("times", Types.LONG()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        self.times.add(ctx.timestamp())
        ctx.timer_service().register_event_time_timer(10**12)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), self.count.value(), sorted(self.times.get())
        self.count.clear()
        self.times.clear()


@program(58, compare="multiset", parallelism=2)
def timers_and_state_at_the_end(env: StreamExecutionEnvironment) -> DataStream:
    """A count kept in state and given out once per key by a timer far ahead."""
    records = [(number % 7, (number * 37) % 50) for number in range(50)]
    return timed(env, records, seconds=5).key_by(lambda pair: pair[0]).process(Gather())


class SumAtTheEnd(KeyedProcessFunction):
    def __init__(self, time):
        self.time = time

    def open(self, runtime_context: RuntimeContext):
        self.sum = runtime_context.get_reducing_state(
            ReducingStateDescriptor("sum", lambda left, right: left + right, Types.LONG())
        )

    def process_element(self, value, ctx):
        self.sum.add(value[1])
        ctx.timer_service().register_event_time_timer(self.time)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), self.sum.get(), timestamp


@program(61, compare="multiset", parallelism=2)
def chained_keyed_stages_with_timers(env: StreamExecutionEnvironment) -> DataStream:
    """Two keyed stages with timers: those of the second see the output of the first."""
    records = [(number % 10, number, number) for number in range(100)]
    return (
        ordered(env, records)
        .key_by(lambda item: item[0])
        .process(SumAtTheEnd(10**9))
        .key_by(lambda item: item[0] % 2)
        .process(SumAtTheEnd(2 * 10**9))
    )


class ElementAndTimer(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield "element", value[1], ctx.timer_service().current_watermark()
        ctx.timer_service().register_event_time_timer(value[2] + 1_500)

    def on_timer(self, timestamp, ctx):
        yield "timer", timestamp, ctx.timer_service().current_watermark()


@program(244, compare="ordered", mode="streaming", watermarks="each record")
def timers_as_the_watermark_goes(env: StreamExecutionEnvironment) -> DataStream:
    """Event-time timers fire as the watermark passes them, between the records."""
    events = [("a", 1, 1_000), ("a", 2, 2_000), ("a", 4, 3_000), ("a", 8, 9_000), ("a", 16, 500)]
    return ordered(env, events).key_by(lambda event: event[0]).process(ElementAndTimer())


class TimerInAnHour(KeyedProcessFunction):
    def process_element(self, value, ctx):
        now = ctx.timer_service().current_processing_time()
        ctx.timer_service().register_processing_time_timer(now + 3_600_000)
        yield value[0], "element", value[1]

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), "timer", ctx.time_domain().name


@program(62, compare="ordered_by_key:0", mode="batch")
def processing_time_timers_batch(env: StreamExecutionEnvironment) -> DataStream:
    """Processing-time timers of a bounded input in batch mode fire when their key ends."""
    return (
        env.from_collection([("a", 1), ("b", 2)])
        .key_by(lambda pair: pair[0])
        .process(TimerInAnHour())
    )


class TimerNeverDue(KeyedProcessFunction):
    def process_element(self, value, ctx):
        now = ctx.timer_service().current_processing_time()
        ctx.timer_service().register_processing_time_timer(now + 3_600_000)
        yield value, now > 1_600_000_000_000

    def on_timer(self, timestamp, ctx):
        yield "fired", timestamp


@program(63, compare="ordered", mode="streaming")
def processing_time_far_timer(env: StreamExecutionEnvironment) -> DataStream:
    """A processing-time timer an hour ahead does not hold up, or fire at, the end of a stream."""
    return env.from_collection([1, 2]).key_by(lambda value: value).process(TimerNeverDue())
