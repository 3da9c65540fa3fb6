"""A stream connected with itself: each record comes by both inputs.

compare: multiset
parallelism: 1
mode: streaming
"""

from pyflink.datastream import CoMapFunction, DataStream, StreamExecutionEnvironment


class Label(CoMapFunction):
    def map1(self, value):
        return "one", value

    def map2(self, value):
        return "two", value


def build(env: StreamExecutionEnvironment) -> DataStream:
    stream = env.from_collection([1, 2, 3])
    return stream.connect(stream).map(Label())
