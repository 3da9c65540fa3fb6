"""A ReduceFunction over untyped records; the first record of a key passes as it is.

compare: ordered_by_key:0
parallelism: 1
mode: streaming, batch
"""

from pyflink.datastream import DataStream, ReduceFunction, StreamExecutionEnvironment


class Join(ReduceFunction):
    def reduce(self, value1, value2):
        return value1[0], f"({value1[1]}+{value2[1]})"


def build(env: StreamExecutionEnvironment) -> DataStream:
    pairs = [(1, "a"), (2, "b"), (1, "c"), (1, "d"), (2, "e")]
    return env.from_collection(pairs).key_by(lambda pair: pair[0]).reduce(Join())
