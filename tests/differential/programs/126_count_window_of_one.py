"""Count windows of one record: each record is a result.

compare: ordered_by_key:0
parallelism: 2
mode: streaming, batch
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import WindowFunction


class Times(WindowFunction):
    def apply(self, key, window, inputs):
        for element in inputs:
            yield key, element[1] * 100


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        env.from_collection([("a", 1), ("b", 2), ("c", 3)])
        .key_by(lambda event: event[0])
        .count_window(1)
        .apply(Times())
    )
