"""List, map, reducing and aggregating state by window, over the firings of a count trigger.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
"""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import AggregateFunction, DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
)
from pyflink.datastream.window import CountTrigger, TumblingEventTimeWindows


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


class Sum(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value[1]

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


class Several(ProcessWindowFunction):
    def process(self, key, context, elements):
        state = context.window_state()
        values = [element[1] for element in elements]
        sizes = state.get_list_state(ListStateDescriptor("sizes", Types.LONG()))
        seen = state.get_map_state(MapStateDescriptor("seen", Types.LONG(), Types.LONG()))
        largest = state.get_reducing_state(ReducingStateDescriptor("largest", max, Types.LONG()))
        total = state.get_aggregating_state(
            AggregatingStateDescriptor("total", Sum(), Types.LONG())
        )
        sizes.add(len(values))
        seen.put(values[-1], len(values))
        largest.add(values[-1])
        total.add((key, values[-1]))
        yield (
            key,
            context.window().start,
            list(sizes.get()),
            sorted(seen.items()),
            largest.get(),
            total.get(),
        )

    def clear(self, context):
        context.window_state().get_list_state(ListStateDescriptor("sizes", Types.LONG())).clear()


EVENTS = [
    ("a", 1, 1_000),
    ("a", 9, 6_000),
    ("a", 3, 2_000),
    ("a", 2, 7_000),
    ("a", 5, 3_000),
    ("b", 6, 1_000),
]


def build(env: StreamExecutionEnvironment) -> DataStream:
    windowed = (
        timed(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
    )
    return windowed.trigger(CountTrigger.of(1)).process(Several())
