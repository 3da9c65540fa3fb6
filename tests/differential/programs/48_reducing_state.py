"""Reducing state: get on empty, add, clear; with a callable and with a ReduceFunction.

compare: ordered_by_key:0
parallelism: 2
mode: streaming, batch
"""

from pyflink.common import Types
from pyflink.datastream import (
    DataStream,
    KeyedProcessFunction,
    ReduceFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ReducingStateDescriptor


class Product(ReduceFunction):
    def reduce(self, value1, value2):
        return value1 * value2


class Both(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.sum = runtime_context.get_reducing_state(
            ReducingStateDescriptor("sum", lambda left, right: left + right, Types.LONG())
        )
        self.product = runtime_context.get_reducing_state(
            ReducingStateDescriptor("product", Product(), Types.LONG())
        )

    def process_element(self, value, ctx):
        before = self.sum.get()
        self.sum.add(value[1])
        self.product.add(value[1])
        result = (value[0], before, self.sum.get(), self.product.get())
        if value[1] == 4:
            self.sum.clear()
        yield result


def build(env: StreamExecutionEnvironment) -> DataStream:
    pairs = [("a", 2), ("b", 3), ("a", 4), ("a", 5), ("b", 6)]
    return env.from_collection(pairs).key_by(lambda pair: pair[0]).process(Both())
