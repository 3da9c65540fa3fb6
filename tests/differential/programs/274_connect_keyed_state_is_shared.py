"""Keyed state is shared by both inputs. What a key has gathered is reported at the end by a
timer, so that the order in which the inputs interleave does not matter.

compare: ordered_by_key:0
parallelism: 1
mode: streaming, batch
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
from pyflink.datastream.state import ListStateDescriptor


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Gather(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.STRING()))

    def process_element1(self, value, ctx):
        self.seen.add(f"left {value[1]}")
        ctx.timer_service().register_event_time_timer(1_000_000)

    def process_element2(self, value, ctx):
        self.seen.add(f"right {value[1]}")
        ctx.timer_service().register_event_time_timer(1_000_000)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp, sorted(self.seen.get())


def build(env: StreamExecutionEnvironment) -> DataStream:
    left = timed(env, [("a", 1, 10), ("b", 2, 20), ("a", 3, 30)])
    right = timed(env, [("a", 4, 10), ("c", 5, 20)])
    return (
        left.key_by(lambda event: event[0])
        .connect(right.key_by(lambda event: event[0]))
        .process(Gather())
    )
