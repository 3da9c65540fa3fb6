"""One of two connected streams is empty: the other goes its way.

compare: ordered
parallelism: 1
mode: streaming, batch
"""

from pyflink.datastream import CoMapFunction, DataStream, StreamExecutionEnvironment


class Label(CoMapFunction):
    def map1(self, value):
        return "left", value

    def map2(self, value):
        return "right", value


def build(env: StreamExecutionEnvironment) -> DataStream:
    empty = env.from_collection([9]).filter(lambda value: False)
    return env.from_collection([1, 2, 3]).connect(empty).map(Label())
