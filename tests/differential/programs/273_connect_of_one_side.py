"""Within one input of a connected pair, records keep their order. Each record names its side,
which is what the comparison goes by.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
"""

from pyflink.datastream import CoMapFunction, DataStream, StreamExecutionEnvironment


class Label(CoMapFunction):
    def map1(self, value):
        return "left", value

    def map2(self, value):
        return "right", value


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        env.from_collection(list(range(8)))
        .connect(env.from_collection(list("abcdefgh")))
        .map(Label())
    )
