"""A ReduceFunction that opens: what it set is there when it reduces.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
"""

from pyflink.datastream import (
    DataStream,
    ReduceFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)


class Weighted(ReduceFunction):
    def open(self, runtime_context: RuntimeContext):
        self.factor = 10

    def reduce(self, value1, value2):
        return value1[0], value1[1] + self.factor * value2[1]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        env.from_collection([("a", 1), ("b", 2), ("a", 3), ("a", 4)])
        .key_by(lambda event: event[0])
        .reduce(Weighted())
    )
