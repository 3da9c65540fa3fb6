"""An error in a user's assigner fails the job.

compare: raises:KeyError
parallelism: 1
mode: streaming
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment, WindowAssigner
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


class Broken(WindowAssigner):
    def assign_windows(self, element, timestamp, context):
        return [{"a": TimeWindow(0, 5_000)}[element[0]]]

    def get_default_trigger(self, env):
        return EventTimeTrigger.create()

    def get_window_serializer(self):
        return TimeWindowSerializer()

    def is_event_time(self):
        return True


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        timed(env, [("a", 1, 2), ("b", 1, 2)])
        .key_by(lambda event: event[0])
        .window(Broken())
        .reduce(add)
    )
