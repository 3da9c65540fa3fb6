"""A user's assigner that puts a record into an hour and a day, and some records into no window.

compare: multiset
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment, WindowAssigner
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


class HourAndDay(WindowAssigner):
    def assign_windows(self, element, timestamp, context):
        if element[1] < 0:
            return []
        hour, day = 3_600_000, 86_400_000
        return [
            TimeWindow(timestamp - timestamp % size, timestamp - timestamp % size + size)
            for size in (hour, day)
        ]

    def get_default_trigger(self, env):
        return EventTimeTrigger()

    def get_window_serializer(self):
        return TimeWindowSerializer()

    def is_event_time(self):
        return True


EVENTS = [
    ("a", 1, 0),
    ("a", 2, 3_599_999),
    ("a", 3, 3_600_000),
    ("a", -4, 5_000),
    ("a", 6, 86_399_999),
    ("b", 5, 90_000_000),
]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return timed(env, EVENTS).key_by(lambda event: event[0]).window(HourAndDay()).process(Span())
