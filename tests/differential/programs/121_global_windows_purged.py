"""Global windows with a count trigger that purges: three records at a time, the rest is never
seen.

compare: ordered_by_key:0
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import WindowFunction
from pyflink.datastream.window import CountTrigger, GlobalWindows, PurgingTrigger


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Batch(WindowFunction):
    def apply(self, key, window, inputs):
        yield key, str(window), [element[1] for element in inputs]


EVENTS = [("a", number, number) for number in range(7)] + [("b", 1, 8), ("b", 2, 9)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    windowed = timed(env, EVENTS).key_by(lambda event: event[0]).window(GlobalWindows.create())
    return windowed.trigger(PurgingTrigger.of(CountTrigger.of(3))).apply(Batch())
