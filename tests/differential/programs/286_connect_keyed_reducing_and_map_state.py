"""Map state and reducing state shared by the two inputs; what is reported is what any order
gives.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
"""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Duration
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    DataStream,
    KeyedCoProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import MapStateDescriptor, ReducingStateDescriptor


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Tables(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.table = runtime_context.get_map_state(
            MapStateDescriptor("table", Types.STRING(), Types.LONG())
        )
        self.largest = runtime_context.get_reducing_state(
            ReducingStateDescriptor("largest", max, Types.LONG())
        )

    def process_element1(self, value, ctx):
        self.table.put(f"left {value[1]}", value[1])
        self.largest.add(value[1])
        ctx.timer_service().register_event_time_timer(99_000)

    def process_element2(self, value, ctx):
        self.table.put(f"right {value[1]}", value[1])
        self.largest.add(value[1])
        ctx.timer_service().register_event_time_timer(99_000)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), sorted(self.table.items()), self.largest.get()


def build(env: StreamExecutionEnvironment) -> DataStream:
    left = timed(env, [("a", 1, 10), ("b", 2, 20), ("a", 3, 30)])
    right = timed(env, [("a", 9, 10), ("c", 5, 20)])
    return (
        left.connect(right).key_by(lambda event: event[0], lambda event: event[0]).process(Tables())
    )
