"""A global window over the whole stream, fired by count.

compare: ordered
parallelism: 1
mode: streaming, batch
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import AllWindowFunction
from pyflink.datastream.window import CountTrigger, GlobalWindows


class Show(AllWindowFunction):
    def apply(self, window, inputs):
        yield str(window), sum(inputs)


def build(env: StreamExecutionEnvironment) -> DataStream:
    stream = env.from_collection([1, 2, 3, 4, 5, 6, 7])
    return stream.window_all(GlobalWindows.create()).trigger(CountTrigger.of(3)).apply(Show())
