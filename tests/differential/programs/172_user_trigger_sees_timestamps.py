"""What a trigger is given: the record, its timestamp, and the window. It fires for even
timestamps.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment, Trigger, TriggerResult
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows


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


class EvenTime(Trigger):
    def on_element(self, element, timestamp, window, ctx):
        if timestamp != element[-1] or not window.start <= timestamp <= window.max_timestamp():
            raise ValueError(f"{timestamp} for {element} in {window}")
        return TriggerResult.FIRE if timestamp % 2 == 0 else TriggerResult.CONTINUE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_merge(self, window, ctx):
        pass

    def clear(self, window, ctx):
        pass


EVENTS = [("a", 1, 11), ("a", 2, 12), ("b", 3, 13), ("a", 4, 24), ("b", 5, 14)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    windowed = (
        timed(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    )
    return windowed.trigger(EvenTime()).process(Span())
