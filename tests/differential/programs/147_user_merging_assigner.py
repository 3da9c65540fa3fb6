"""A user's merging assigner: sessions that never reach over the border of a minute.

compare: ordered_by_key:0
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, MergingWindowAssigner, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import EventTimeTrigger, TimeWindow, TimeWindowSerializer


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Span(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, sorted(element[1] for element in elements)


class SessionsWithinMinutes(MergingWindowAssigner):
    def assign_windows(self, element, timestamp, context):
        minute_end = timestamp - timestamp % 60_000 + 60_000
        return [TimeWindow(timestamp, min(timestamp + 10_000, minute_end))]

    def merge_windows(self, windows, callback):
        by_minute = {}
        for window in windows:
            by_minute.setdefault(window.start // 60_000, []).append(window)
        for group in by_minute.values():
            TimeWindow.merge_windows(group, callback)

    def get_default_trigger(self, env):
        return EventTimeTrigger.create()

    def get_window_serializer(self):
        return TimeWindowSerializer()

    def is_event_time(self):
        return True


EVENTS = [
    ("a", 1, 40_000),
    ("a", 2, 55_000),
    ("a", 3, 60_000),
    ("a", 4, 47_000),
    ("a", 5, 69_000),
    ("b", 6, 59_999),
]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        timed(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(SessionsWithinMinutes())
        .process(Span())
    )
