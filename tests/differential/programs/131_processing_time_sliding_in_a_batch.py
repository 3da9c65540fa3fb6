"""Two processing-time windows so long that the clock does not matter.

compare: multiset
parallelism: 1
mode: batch
"""

from pyflink.common.time import Time
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import SlidingProcessingTimeWindows


class Spans(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, sorted(value for _, value in elements)


def build(env: StreamExecutionEnvironment) -> DataStream:
    windows = SlidingProcessingTimeWindows.of(Time.days(73_000), Time.days(36_500))
    return (
        env.from_collection([("a", 1), ("b", 2), ("a", 3)])
        .key_by(lambda event: event[0])
        .window(windows)
        .process(Spans())
    )
