"""Rows of a declared type, reduced by window: the result has the type of the input, names too.

compare: multiset
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import Row, Types, WatermarkStrategy
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


TYPE = Types.ROW_NAMED(["name", "value", "at"], [Types.STRING(), Types.INT(), Types.LONG()])


class At(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value.at


def add_rows(left, right):
    return Row(left.name, left.value + right.value, max(left.at, right.at))


EVENTS = [Row("a", 1, 1_000), Row("b", 2, 6_000), Row("a", 3, 4_999), Row("a", 5, 12_000)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(10))
    stream = env.from_collection(EVENTS, type_info=TYPE)
    timed = stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(At()))
    keyed = timed.key_by(lambda row: row.name, key_type=Types.STRING())
    return keyed.window(TumblingEventTimeWindows.of(Time.seconds(5))).reduce(add_rows)
