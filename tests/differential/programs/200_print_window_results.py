"""What print writes for results of windows: untyped tuples and texts in which a window stands.

compare: printed
parallelism: 1
mode: streaming
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Show(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, len(list(elements))
        yield f"{key} in {context.window()}"


EVENTS = [("a", 1, 1_000), ("a", 2, 6_000), ("a", 4, 2_000)]


def build(env: StreamExecutionEnvironment) -> None:
    timed(env, EVENTS).key_by(lambda event: event[0]).window(
        TumblingEventTimeWindows.of(Time.seconds(5))
    ).process(Show()).print()
