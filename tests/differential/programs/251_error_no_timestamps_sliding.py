"""Sliding event-time windows over records without timestamps fail.

compare: raises:Exception
parallelism: 1
mode: streaming
"""

from pyflink.common.time import Time
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.window import SlidingEventTimeWindows


def build(env: StreamExecutionEnvironment) -> DataStream:
    windows = SlidingEventTimeWindows.of(Time.seconds(5), Time.seconds(1))
    return (
        env.from_collection([("a", 1, 2)])
        .key_by(lambda event: event[0])
        .window(windows)
        .reduce(lambda left, right: left)
    )
