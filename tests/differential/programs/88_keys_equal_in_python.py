"""Keys of different types that are equal in Python.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
"""

from decimal import Decimal

from pyflink.common import Types
from pyflink.datastream import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ValueStateDescriptor

KEYS = [1, True, 1.0, 1.5, Decimal("1.50")]


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield float(ctx.get_current_key()), self.count.value()


def build(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection(list(range(5))).key_by(lambda index: KEYS[index]).process(Count())
