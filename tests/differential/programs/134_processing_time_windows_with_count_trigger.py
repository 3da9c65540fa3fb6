"""Processing-time windows with a count trigger: records fire, and the clock does not.

compare: ordered_by_key:0
parallelism: 1
mode: streaming, batch
"""

from pyflink.common.time import Time
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.window import CountTrigger, TumblingProcessingTimeWindows

EVENTS = [("a", 1), ("b", 2), ("a", 3), ("b", 4), ("a", 5), ("a", 7)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    windowed = (
        env.from_collection(EVENTS)
        .key_by(lambda event: event[0])
        .window(TumblingProcessingTimeWindows.of(Time.days(36_500)))
    )
    return windowed.trigger(CountTrigger.of(2)).reduce(
        lambda left, right: (left[0], left[1] + right[1])
    )
