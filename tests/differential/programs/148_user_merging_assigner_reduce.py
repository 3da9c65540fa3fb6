"""A user's merging assigner that joins all windows of a key which have a common hundred,
reduced.

compare: multiset
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, MergingWindowAssigner, StreamExecutionEnvironment
from pyflink.datastream.window import EventTimeTrigger, TimeWindow, TimeWindowSerializer


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


class Hundreds(MergingWindowAssigner):
    def assign_windows(self, element, timestamp, context):
        return [TimeWindow(timestamp, timestamp + 1)]

    def merge_windows(self, windows, callback):
        hundreds = {}
        for window in windows:
            hundreds.setdefault(window.start // 100, set()).add(window)
        for group in hundreds.values():
            if len(group) > 1:
                start, end = min(w.start for w in group), max(w.end for w in group)
                callback.merge(group, TimeWindow(start, end))

    def get_default_trigger(self, env):
        return EventTimeTrigger.create()

    def get_window_serializer(self):
        return TimeWindowSerializer()

    def is_event_time(self):
        return True


EVENTS = [
    ("a", 1, 10),
    ("a", 2, 90),
    ("a", 4, 110),
    ("a", 8, 50),
    ("a", 16, 199),
    ("b", 32, 5),
    ("b", 64, 305),
]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return timed(env, EVENTS).key_by(lambda event: event[0]).window(Hundreds()).reduce(add)
