"""Sessions of the whole stream.

compare: ordered
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessAllWindowFunction
from pyflink.datastream.window import EventTimeSessionWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Show(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield (
            context.window().start,
            context.window().end,
            sorted(element[0] for element in elements),
        )


EVENTS = [("a", 0), ("b", 9_000), ("c", 3_000), ("d", 5_500), ("e", 30_000)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        timed(env, EVENTS)
        .window_all(EventTimeSessionWindows.with_gap(Time.seconds(4)))
        .process(Show())
    )
