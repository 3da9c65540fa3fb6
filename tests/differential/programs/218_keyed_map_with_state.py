"""A map function on a keyed stream keeps state by key.

compare: ordered_by_key:0
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import Types
from pyflink.datastream import DataStream, MapFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor


class Number(MapFunction):
    def open(self, runtime_context: RuntimeContext):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def map(self, value):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        return value[0], count


EVENTS = [("a", 1), ("b", 2), ("a", 3), ("a", 4), ("b", 5)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection(EVENTS).key_by(lambda event: event[0]).map(Number())
