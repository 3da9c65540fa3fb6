"""Aggregating state: get on empty, add, clear.

compare: ordered_by_key:0
parallelism: 2
mode: streaming, batch
"""

from pyflink.common import Types
from pyflink.datastream import (
    AggregateFunction,
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import AggregatingStateDescriptor


class Mean(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1] if accumulator[1] else None

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Means(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.mean = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("mean", Mean(), Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value, ctx):
        before = self.mean.get()
        if value[1] is None:
            self.mean.clear()
        else:
            self.mean.add(value[1])
        yield value[0], before, self.mean.get()


def build(env: StreamExecutionEnvironment) -> DataStream:
    pairs = [("a", 2), ("b", 3), ("a", 4), ("a", None), ("a", 5), ("b", 6)]
    return env.from_collection(pairs).key_by(lambda pair: pair[0]).process(Means())
