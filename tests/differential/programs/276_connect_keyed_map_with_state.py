"""A CoMapFunction on keyed streams with state that both halves count in. How the halves
interleave is not promised, so only the numbers are given, which are one to the count of records
by key.

compare: multiset
parallelism: 1
mode: streaming
"""

from pyflink.common import Types
from pyflink.datastream import CoMapFunction, DataStream, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor


class Number(CoMapFunction):
    def open(self, runtime_context: RuntimeContext):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def next_number(self):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        return count

    def map1(self, value):
        return value[0], self.next_number()

    def map2(self, value):
        return value[0], self.next_number()


def build(env: StreamExecutionEnvironment) -> DataStream:
    left = env.from_collection([("a", 1), ("b", 2), ("a", 3)])
    right = env.from_collection([("a", "x"), ("c", "y")])
    return left.connect(right).key_by(lambda event: event[0], lambda event: event[0]).map(Number())
