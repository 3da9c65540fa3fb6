"""The results of a window connected with another stream, keyed alike.

compare: multiset
parallelism: 1
mode: streaming
"""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    DataStream,
    KeyedCoProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor
from pyflink.datastream.window import TumblingEventTimeWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


def add(left, right):
    return left[0], left[1] + right[1], max(left[2], right[2])


class Compare(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.limit = runtime_context.get_state(ValueStateDescriptor("limit", Types.LONG()))
        self.totals = runtime_context.get_list_state(ListStateDescriptor("totals", Types.LONG()))

    def process_element1(self, value, ctx):
        self.totals.add(value[1])
        ctx.timer_service().register_event_time_timer(1_000_000)

    def process_element2(self, value, ctx):
        self.limit.update(value[1])

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), self.limit.value(), sorted(self.totals.get())


def build(env: StreamExecutionEnvironment) -> DataStream:
    events = timed(env, [("a", 1, 1_000), ("b", 2, 6_000), ("a", 3, 4_999), ("a", 9, 7_000)])
    totals = (
        events.key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .reduce(add)
    )
    limits = timed(env, [("a", 7, 0), ("b", 8, 0)])
    return (
        totals.key_by(lambda event: event[0])
        .connect(limits.key_by(lambda event: event[0]))
        .process(Compare())
    )
