"""Two descriptors of one name are one state; two functions' states of one name are two.

compare: ordered_by_key:0
parallelism: 2
mode: streaming
"""

from pyflink.common import Types
from pyflink.datastream import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ValueStateDescriptor


class Twice(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.one = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.same = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        self.one.update((self.one.value() or 0) + 1)
        yield ctx.get_current_key(), self.same.value(), value[-1]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        env.from_collection([("a", 10), ("b", 20), ("a", 30)])
        .key_by(lambda pair: pair[0])
        .process(Twice())
        .key_by(lambda item: item[0])
        .process(Twice())
    )
