"""In a batch the broadcast input is read first: each element sees all rules.

compare: ordered_by_key:0
parallelism: 1
mode: batch
"""

from pyflink.common import Types
from pyflink.datastream import DataStream, KeyedBroadcastProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import MapStateDescriptor

RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


class Apply(KeyedBroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield value[0], value[1], ctx.get_broadcast_state(RULES).get(value[0])

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value[0], value[1])


def build(env: StreamExecutionEnvironment) -> DataStream:
    rules = env.from_collection([("a", 7), ("b", 8), ("a", 9)]).broadcast(RULES)
    events = env.from_collection([("a", 1), ("b", 2), ("a", 3), ("c", 4)])
    return events.key_by(lambda event: event[0]).connect(rules).process(Apply())
