"""A union of two streams, counted by key.

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


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.seen = runtime_context.get_state(
            ValueStateDescriptor("seen", Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value, ctx):
        count = (self.seen.value() or 0) + 1
        self.seen.update(count)
        yield ctx.get_current_key(), count


def build(env: StreamExecutionEnvironment) -> DataStream:
    left = env.from_collection([("a", 1), ("b", 2), ("a", 3)])
    right = env.from_collection([("b", 4), ("c", 5)])
    return left.union(right).key_by(lambda pair: pair[0]).process(Count())
