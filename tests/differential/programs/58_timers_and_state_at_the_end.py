"""A count kept in state and given out once per key by a timer far ahead.

compare: multiset
parallelism: 2
mode: streaming, batch
"""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Duration
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor


class Second(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


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


def build(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_seconds(5)
    ).with_timestamp_assigner(Second())
    records = [(number % 7, (number * 37) % 50) for number in range(50)]
    return (
        env.from_collection(records)
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda pair: pair[0])
        .process(Gather())
    )
