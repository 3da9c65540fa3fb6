"""A purging count trigger on time windows over the whole stream.

compare: ordered
parallelism: 1
mode: streaming
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessAllWindowFunction
from pyflink.datastream.window import CountTrigger, PurgingTrigger, TumblingEventTimeWindows


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
        yield context.window().start, [element[1] for element in elements]


EVENTS = [("a", number, 1_000 * number) for number in range(9)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    windowed = timed(env, EVENTS).window_all(TumblingEventTimeWindows.of(Time.seconds(5)))
    return windowed.trigger(PurgingTrigger.of(CountTrigger.of(2))).process(Show())
