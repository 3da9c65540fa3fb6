"""Two streams in one flat map: several results, or none.

compare: multiset
parallelism: 1
mode: streaming, batch
"""

from pyflink.datastream import CoFlatMapFunction, DataStream, StreamExecutionEnvironment


class Both(CoFlatMapFunction):
    def flat_map1(self, value):
        for number in range(value):
            yield "left", number

    def flat_map2(self, value):
        yield from value.split()


def build(env: StreamExecutionEnvironment) -> DataStream:
    left, right = env.from_collection([0, 1, 3]), env.from_collection(["a b", "", "c"])
    return left.connect(right).flat_map(Both())
