"""Window functions that return a list and do not yield.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction, WindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Listed(ProcessWindowFunction):
    def process(self, key, context, elements):
        return [(key, context.window().start, len(list(elements))), (key, "end", 0)]


class Applied(WindowFunction):
    def apply(self, key, window, inputs):
        return [(key, element[1]) for element in inputs]


EVENTS = [("a", 3, 3_000), ("b", 2, 6_000), ("a", 1, 3_500)]


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    def windows():
        return (
            timed(env, EVENTS)
            .key_by(lambda event: event[0])
            .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        )

    return {"process": windows().process(Listed()), "apply": windows().apply(Applied())}
