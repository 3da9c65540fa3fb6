"""A filter that drops repeats, and a flat map that gives what it has gathered, both with state
by key.

compare: ordered_by_key:0
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import Types
from pyflink.datastream import (
    DataStream,
    FilterFunction,
    FlatMapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor


class Fresh(FilterFunction):
    def open(self, runtime_context: RuntimeContext):
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def filter(self, value):
        repeated = self.last.value() == value[1]
        self.last.update(value[1])
        return not repeated


class Pairs(FlatMapFunction):
    def open(self, runtime_context: RuntimeContext):
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.LONG()))

    def flat_map(self, value):
        self.waiting.add(value[1])
        gathered = list(self.waiting.get())
        if len(gathered) == 2:
            self.waiting.clear()
            yield value[0], *gathered


EVENTS = [("a", 1), ("a", 1), ("b", 2), ("a", 3), ("a", 3), ("b", 4), ("b", 2)]


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    def keyed():
        return env.from_collection(EVENTS).key_by(lambda event: event[0])

    return {"filter": keyed().filter(Fresh()), "flat_map": keyed().flat_map(Pairs())}
