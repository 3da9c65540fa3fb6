"""Rules and elements come in any order. A timer at the end of time looks at the rules, when all
of them have come: both inputs have ended then.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
"""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Duration
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    DataStream,
    KeyedBroadcastProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


class Apply(KeyedBroadcastProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value, ctx):
        self.total.update((self.total.value() or 0) + value[1])
        ctx.timer_service().register_event_time_timer(1_000_000)

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value[0], value[1])

    def on_timer(self, timestamp, ctx):
        limit = ctx.get_broadcast_state(RULES).get(ctx.get_current_key())
        yield ctx.get_current_key(), self.total.value(), limit


def build(env: StreamExecutionEnvironment) -> DataStream:
    rules = timed(env, [("a", 7, 10), ("b", 8, 10), ("a", 9, 20)]).broadcast(RULES)
    events = timed(env, [("a", 1, 10), ("b", 2, 20), ("a", 3, 30), ("c", 4, 40)])
    return events.key_by(lambda event: event[0]).connect(rules).process(Apply())
