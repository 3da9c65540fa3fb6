"""key_by of the connected pair, with a selector for each side.

compare: multiset
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
from pyflink.datastream.state import ValueStateDescriptor


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Sums(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element1(self, value, ctx):
        self.total.update((self.total.value() or 0) + value[1])
        ctx.timer_service().register_event_time_timer(1_000_000)

    def process_element2(self, value, ctx):
        self.total.update((self.total.value() or 0) + 100 * len(value[0]))
        ctx.timer_service().register_event_time_timer(1_000_000)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), self.total.value()


def build(env: StreamExecutionEnvironment) -> DataStream:
    left = timed(env, [("a", 1, 10), ("b", 2, 20), ("a", 3, 30)])
    right = timed(env, [("xyz", "a", 10), ("z", "c", 20)])
    keyed = left.connect(right).key_by(
        lambda event: event[0], lambda event: event[1], Types.STRING()
    )
    return keyed.process(Sums())
