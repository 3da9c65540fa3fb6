"""Map, flat_map and filter functions as classes that prepare themselves in open.

compare: ordered
parallelism: 1
mode: streaming, batch
"""

from pyflink.datastream import (
    DataStream,
    FilterFunction,
    FlatMapFunction,
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)


class Numbered(MapFunction):
    def open(self, runtime_context: RuntimeContext):
        self.count = 0

    def map(self, value):
        self.count += 1
        return self.count, value

    def close(self):
        self.count = -1


class Repeat(FlatMapFunction):
    def __init__(self, times: int):
        self.times = times

    def flat_map(self, value):
        for number in range(self.times):
            yield (*value, number)


class EveryOther(FilterFunction):
    def open(self, runtime_context: RuntimeContext):
        self.keep = False

    def filter(self, value):
        self.keep = not self.keep
        return self.keep


def build(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection(list("abc")).map(Numbered()).flat_map(Repeat(3)).filter(EveryOther())
