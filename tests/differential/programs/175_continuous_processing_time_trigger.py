"""A continuous processing-time trigger whose first time is far ahead: the input ends before it
is due, and nothing fires.

compare: multiset
parallelism: 1
mode: streaming
"""

from pyflink.common.time import Time
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.window import ContinuousProcessingTimeTrigger, TumblingProcessingTimeWindows


def build(env: StreamExecutionEnvironment) -> DataStream:
    keyed = env.from_collection([("a", 1), ("b", 2), ("a", 3)]).key_by(lambda event: event[0])
    windowed = keyed.window(TumblingProcessingTimeWindows.of(Time.days(36_500)))
    trigger = ContinuousProcessingTimeTrigger.of(Time.days(10_000))
    return windowed.trigger(trigger).reduce(lambda left, right: (left[0], left[1] + right[1]))
