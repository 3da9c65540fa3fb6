"""A user's trigger on sessions that says nothing of merging: keyed windows use its ``on_merge``.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
python: thread
"""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment, Trigger, TriggerResult
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.state import ReducingStateDescriptor
from pyflink.datastream.window import EventTimeSessionWindows, PurgingTrigger


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


def plus(left, right):
    return left + right


class ByWeight(Trigger):
    def __init__(self, limit):
        self.limit = limit
        self.descriptor = ReducingStateDescriptor("weight", plus, Types.LONG())

    def on_element(self, element, timestamp, window, ctx):
        weight = ctx.get_partitioned_state(self.descriptor)
        weight.add(element[1])
        if weight.get() >= self.limit:
            weight.clear()
            return TriggerResult.FIRE
        return TriggerResult.CONTINUE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_merge(self, window, ctx):
        ctx.merge_partitioned_state(self.descriptor)

    def clear(self, window, ctx):
        ctx.get_partitioned_state(self.descriptor).clear()


EVENTS = [
    ("a", 4, 0),
    ("a", 5, 8_000),
    ("a", 1, 4_000),
    ("a", 2, 5_000),
    ("a", 9, 30_000),
    ("a", 3, 31_000),
    ("b", 10, 0),
]


def build(env: StreamExecutionEnvironment) -> DataStream:
    windowed = (
        timed(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(EventTimeSessionWindows.with_gap(Time.seconds(5)))
    )
    return windowed.trigger(PurgingTrigger.of(ByWeight(10))).process(Span())
