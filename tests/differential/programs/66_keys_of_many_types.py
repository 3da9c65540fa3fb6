"""Records meet their state again whatever the type of the key.

compare: ordered_by_key:0
parallelism: 2
mode: streaming, batch
"""

from datetime import date
from decimal import Decimal

from pyflink.common import Types
from pyflink.datastream import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ValueStateDescriptor

KEYS = [1, -1, 2**40, "a", "", 1.5, False, (1, "a"), b"x", date(2024, 1, 1), Decimal("2.50")]


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield repr(ctx.get_current_key()), self.count.value()


def build(env: StreamExecutionEnvironment) -> DataStream:
    records = [(index, number) for number in range(3) for index in range(len(KEYS))]
    return env.from_collection(records).key_by(lambda pair: KEYS[pair[0]]).process(Count())
