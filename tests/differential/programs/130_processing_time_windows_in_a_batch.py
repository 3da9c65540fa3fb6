"""One processing-time window that holds any time of this century. A batch fires it at the end of
each key; a bounded stream ends before it is due, and gives nothing.

compare: multiset
parallelism: 1
mode: streaming, batch
"""

from pyflink.common.time import Time
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.window import TumblingProcessingTimeWindows

EVENTS = [("a", 1), ("b", 2), ("a", 3), ("b", 4)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    windows = TumblingProcessingTimeWindows.of(Time.days(36_500))
    return (
        env.from_collection(EVENTS)
        .key_by(lambda event: event[0])
        .window(windows)
        .reduce(lambda left, right: (left[0], left[1] + right[1]))
    )
