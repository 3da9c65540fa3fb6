"""Two keyed stages, each with a timer: the second stage's timers see the first stage's output.

compare: multiset
parallelism: 2
mode: streaming, batch
"""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ReducingStateDescriptor


class Third(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[2]


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


def build(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Third())
    records = [(number % 10, number, number) for number in range(100)]
    return (
        env.from_collection(records)
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda item: item[0])
        .process(SumAtTheEnd(10**9))
        .key_by(lambda item: item[0] % 2)
        .process(SumAtTheEnd(2 * 10**9))
    )
