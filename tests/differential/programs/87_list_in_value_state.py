"""A list kept in value state, appended to and stored again by an update.

compare: ordered_by_key:0
parallelism: 1
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


class Append(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.items = runtime_context.get_state(
            ValueStateDescriptor("items", Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value, ctx):
        items = self.items.value() or []
        items.append(value[1])
        self.items.update(items)
        yield value[0], list(items), len(self.items.value())


def build(env: StreamExecutionEnvironment) -> DataStream:
    pairs = [("a", 1), ("b", 2), ("a", 3), ("a", 4)]
    return env.from_collection(pairs).key_by(lambda pair: pair[0]).process(Append())
