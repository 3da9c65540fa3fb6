"""A reduce over the whole stream, with either kind of window function after it.

compare: ordered
parallelism: 1
mode: streaming
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import AllWindowFunction, ProcessAllWindowFunction
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


class Label(AllWindowFunction):
    def apply(self, window, inputs):
        yield "apply", window.start, list(inputs)


class Process(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield "process", context.window().start, list(elements)


EVENTS = [("a", 1, 1_000), ("a", 2, 6_000), ("a", 3, 4_999), ("a", 4, 12_000)]


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    def windows():
        return timed(env, EVENTS).window_all(TumblingEventTimeWindows.of(Time.seconds(5)))

    return {"apply": windows().reduce(add, Label()), "process": windows().reduce(add, Process())}
