"""A CoFlatMapFunction on keyed streams: state that each side keeps for itself goes by the order
of that side, which is promised.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
"""

from pyflink.common import Types
from pyflink.datastream import (
    CoFlatMapFunction,
    DataStream,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor


class Running(CoFlatMapFunction):
    def open(self, runtime_context: RuntimeContext):
        self.left = runtime_context.get_state(ValueStateDescriptor("left", Types.LONG()))
        self.right = runtime_context.get_list_state(ListStateDescriptor("right", Types.STRING()))

    def flat_map1(self, value):
        total = (self.left.value() or 0) + value[1]
        self.left.update(total)
        yield f"left {value[0]}", total

    def flat_map2(self, value):
        self.right.add(value[1])
        yield f"right {value[0]}", list(self.right.get())


def build(env: StreamExecutionEnvironment) -> DataStream:
    left = env.from_collection([("a", 1), ("b", 2), ("a", 3)])
    right = env.from_collection([("a", "x"), ("b", "y"), ("a", "z")])
    return (
        left.connect(right)
        .key_by(lambda event: event[0], lambda event: event[0])
        .flat_map(Running())
    )
