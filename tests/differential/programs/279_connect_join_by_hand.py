"""A join of two streams by hand: each side waits in state for the other, so any interleaving
gives the same pairs.

compare: multiset
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import Types
from pyflink.datastream import (
    DataStream,
    KeyedCoProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ListStateDescriptor


class Join(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.left = runtime_context.get_list_state(ListStateDescriptor("left", Types.LONG()))
        self.right = runtime_context.get_list_state(ListStateDescriptor("right", Types.STRING()))

    def process_element1(self, value, ctx):
        self.left.add(value[1])
        for other in self.right.get():
            yield value[0], value[1], other

    def process_element2(self, value, ctx):
        self.right.add(value[1])
        for other in self.left.get():
            yield value[0], other, value[1]


def build(env: StreamExecutionEnvironment) -> DataStream:
    left = env.from_collection([("a", 1), ("b", 2), ("a", 3), ("d", 4)])
    right = env.from_collection([("a", "x"), ("c", "y"), ("a", "z"), ("b", "w")])
    return (
        left.connect(right).key_by(lambda event: event[0], lambda event: event[0]).process(Join())
    )
