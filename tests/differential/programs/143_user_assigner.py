"""A user's assigner: windows as long as the record says.

compare: ordered_by_key:0
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


class ByLength(WindowAssigner):
    def assign_windows(self, element, timestamp, context):
        start = timestamp - timestamp % element[1]
        return [TimeWindow(start, start + element[1])]

    def get_default_trigger(self, env):
        return EventTimeTrigger()

    def get_window_serializer(self):
        return TimeWindowSerializer()

    def is_event_time(self):
        return True


EVENTS = [("a", 10, 3), ("a", 100, 7), ("a", 10, 14), ("a", 100, 99), ("b", 7, 13), ("b", 7, 7)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return timed(env, EVENTS).key_by(lambda event: event[0]).window(ByLength()).process(Span())
