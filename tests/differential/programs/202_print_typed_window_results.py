"""What print writes for results of windows with a declared type: tuples and rows.

compare: printed
parallelism: 1
mode: streaming
"""

from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import WindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class AsRow(WindowFunction):
    def apply(self, key, window, inputs):
        yield Row(key, window.start, len(list(inputs)))


EVENTS = [("a", 1, 1_000), ("a", 2, 6_000), ("a", 4, 2_000)]


def build(env: StreamExecutionEnvironment) -> None:
    row = Types.ROW_NAMED(["name", "start", "count"], [Types.STRING(), Types.LONG(), Types.INT()])
    windowed = (
        timed(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
    )
    windowed.apply(AsRow(), output_type=row).print("rows")
