"""A record joins two sessions that are reduced already. In a stream PyFlink 2.3 loses one of
them. A batch reads the records of a key by their time, so that a session grows at its end only.

compare: multiset
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.window import EventTimeSessionWindows


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


EVENTS = [
    ("a", 1, 0),
    ("a", 2, 8_000),
    ("a", 4, 12_000),
    ("a", 8, 4_000),
    ("b", 16, 1),
    ("b", 32, 50_000),
]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        timed(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(EventTimeSessionWindows.with_gap(Time.seconds(5)))
        .reduce(add)
    )
