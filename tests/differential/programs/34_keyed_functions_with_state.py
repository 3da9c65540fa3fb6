"""Keyed map, flat_map and filter that get their state in open.

compare: ordered_by_key:0
parallelism: 2
mode: streaming, batch
"""

from pyflink.common import Types
from pyflink.datastream import (
    DataStream,
    FilterFunction,
    FlatMapFunction,
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ValueStateDescriptor


class RunningSum(MapFunction):
    def open(self, runtime_context: RuntimeContext):
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def map(self, value):
        total = (self.sum.value() or 0) + value[1]
        self.sum.update(total)
        return value[0], total


class Pairs(FlatMapFunction):
    def open(self, runtime_context: RuntimeContext):
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def flat_map(self, value):
        last = self.last.value()
        if last is not None:
            yield value[0], last + value[1]
        self.last.update(value[1])


class Grows(FilterFunction):
    def open(self, runtime_context: RuntimeContext):
        self.most = runtime_context.get_state(ValueStateDescriptor("most", Types.LONG()))

    def filter(self, value):
        most = self.most.value()
        self.most.update(value[1] if most is None else max(most, value[1]))
        return most is None or value[1] > most


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    pairs = env.from_collection(
        [("a", 1), ("b", 5), ("a", 3), ("a", 2), ("b", 4), ("a", 9)],
        type_info=Types.TUPLE([Types.STRING(), Types.LONG()]),
    )
    keyed = pairs.key_by(lambda pair: pair[0], key_type=Types.STRING())
    return {
        "map": keyed.map(RunningSum()),
        "flat_map": keyed.flat_map(Pairs()),
        "filter": keyed.filter(Grows()),
    }
