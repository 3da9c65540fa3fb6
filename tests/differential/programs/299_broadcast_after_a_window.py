"""Results of windows meet broadcast rules at the end.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
"""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    DataStream,
    KeyedBroadcastProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor
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


RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


class Apply(KeyedBroadcastProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.totals = runtime_context.get_list_state(ListStateDescriptor("totals", Types.LONG()))

    def process_element(self, value, ctx):
        self.totals.add(value[1])
        ctx.timer_service().register_event_time_timer(500_000)

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value[0], value[1])

    def on_timer(self, timestamp, ctx):
        limit = ctx.get_broadcast_state(RULES).get(ctx.get_current_key()) or 0
        yield ctx.get_current_key(), [total for total in sorted(self.totals.get()) if total > limit]


def build(env: StreamExecutionEnvironment) -> DataStream:
    rules = timed(env, [("a", 3, 10), ("b", 8, 10)]).broadcast(RULES)
    events = timed(
        env, [("a", 1, 1_000), ("b", 2, 6_000), ("a", 3, 4_999), ("a", 2, 7_000), ("a", 9, 13_000)]
    )
    totals = (
        events.key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .reduce(add)
    )
    return totals.key_by(lambda event: event[0]).connect(rules).process(Apply())
