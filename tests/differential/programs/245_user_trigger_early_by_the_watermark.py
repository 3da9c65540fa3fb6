"""A user's trigger with a timer in the middle of the window shows what has come by then, and
again at the end.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
watermarks: each record
"""

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment, Trigger, TriggerResult
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def ordered(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Span(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, sorted(element[1] for element in elements)


class MiddleAndEnd(Trigger):
    def on_element(self, element, timestamp, window, ctx):
        middle = (window.start + window.end) // 2
        if ctx.get_current_watermark() < middle:
            ctx.register_event_time_timer(middle)
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.FIRE

    def on_merge(self, window, ctx):
        pass

    def clear(self, window, ctx):
        ctx.delete_event_time_timer((window.start + window.end) // 2)
        ctx.delete_event_time_timer(window.max_timestamp())


EVENTS = [
    ("a", 1, 1_000),
    ("a", 2, 4_000),
    ("b", 1, 6_000),
    ("a", 4, 7_000),
    ("a", 8, 11_000),
    ("a", 16, 17_000),
]


def build(env: StreamExecutionEnvironment) -> DataStream:
    windowed = (
        ordered(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
    )
    return windowed.trigger(MiddleAndEnd()).process(Span())
