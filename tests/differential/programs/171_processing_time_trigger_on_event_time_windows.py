"""A processing-time trigger on event-time windows that lie in the future: the input ends before
they are due, and nothing fires.

compare: multiset
parallelism: 1
mode: streaming
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.window import ProcessingTimeTrigger, TumblingEventTimeWindows


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


FAR = 4_000_000_000_000


def build(env: StreamExecutionEnvironment) -> DataStream:
    keyed = timed(env, [("a", 1, FAR), ("a", 2, FAR + 1), ("b", 3, FAR)]).key_by(
        lambda event: event[0]
    )
    return (
        keyed.window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .trigger(ProcessingTimeTrigger.create())
        .reduce(add)
    )
