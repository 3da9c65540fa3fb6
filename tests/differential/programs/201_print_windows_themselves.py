"""What print writes for a window itself: of time, of count, the global one.

compare: printed_multiset
parallelism: 1
mode: streaming
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import WindowFunction
from pyflink.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
)


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class TheWindow(WindowFunction):
    def apply(self, key, window, inputs):
        yield window


def build(env: StreamExecutionEnvironment) -> None:
    keyed = timed(env, [("a", 1, 1_000), ("a", 2, 2_000)]).key_by(lambda event: event[0])
    keyed.window(SlidingEventTimeWindows.of(Time.seconds(4), Time.seconds(2))).apply(
        TheWindow()
    ).print("time")
    keyed.window(EventTimeSessionWindows.with_gap(Time.seconds(4))).apply(TheWindow()).print(
        "session"
    )
    keyed.count_window(2).apply(TheWindow()).print("count")
    keyed.window(GlobalWindows.create()).trigger(CountTrigger.of(2)).apply(TheWindow()).print(
        "global"
    )
