"""Sliding count windows: four records, a new window each two.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import WindowFunction


class Show(WindowFunction):
    def apply(self, key, window, inputs):
        yield key, window.id, [element[1] for element in inputs]


EVENTS = [("a", number) for number in range(11)] + [("b", number) for number in range(5)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        env.from_collection(EVENTS).key_by(lambda event: event[0]).count_window(4, 2).apply(Show())
    )
