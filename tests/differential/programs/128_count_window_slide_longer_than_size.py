"""Count windows with gaps: two records are taken, one is left out.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import WindowFunction


class Show(WindowFunction):
    def apply(self, key, window, inputs):
        yield key, window.id, [element[1] for element in inputs]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        env.from_collection([("a", number) for number in range(9)])
        .key_by(lambda event: event[0])
        .count_window(2, 3)
        .apply(Show())
    )
