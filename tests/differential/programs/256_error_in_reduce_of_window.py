"""An error in the reduce function of a window fails the job.

compare: raises:ZeroDivisionError
parallelism: 1
mode: streaming
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.window import TumblingEventTimeWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


def build(env: StreamExecutionEnvironment) -> DataStream:
    stream = timed(env, [("a", 1, 2), ("a", 0, 3)])
    windowed = stream.key_by(lambda event: event[0]).window(
        TumblingEventTimeWindows.of(Time.seconds(5))
    )
    return windowed.reduce(lambda left, right: (left[0], left[1] / right[1], 0))
