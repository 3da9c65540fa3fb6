"""An error of the user's own class in a window function fails the job.

compare: raises:LookupError
parallelism: 1
mode: streaming, batch
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


class Missing(LookupError):
    pass


class Fail(ProcessWindowFunction):
    def process(self, key, context, elements):
        if key == "b":
            raise Missing(key)
        yield key


def build(env: StreamExecutionEnvironment) -> DataStream:
    stream = timed(env, [("a", 1, 2), ("b", 2, 3)])
    return (
        stream.key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .process(Fail())
    )
