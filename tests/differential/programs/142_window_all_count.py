"""Count windows over the whole stream.

compare: ordered
parallelism: 1
mode: streaming, batch
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessAllWindowFunction
from pyflink.datastream.window import CountTumblingWindowAssigner


class Show(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield context.window().id, sum(elements)


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        env.from_collection([1, 2, 3, 4, 5, 6, 7])
        .window_all(CountTumblingWindowAssigner.of(3))
        .process(Show())
    )
