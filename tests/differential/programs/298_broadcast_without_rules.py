"""No rule ever comes: elements see an empty state.

compare: multiset
parallelism: 1
mode: streaming, batch
python: process
"""

from pyflink.common import Types
from pyflink.datastream import BroadcastProcessFunction, DataStream, StreamExecutionEnvironment
from pyflink.datastream.state import MapStateDescriptor

RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


class Apply(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        rules = ctx.get_broadcast_state(RULES)
        yield value, rules.contains(value), list(rules.keys())

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value[0], value[1])


def build(env: StreamExecutionEnvironment) -> DataStream:
    rules = env.from_collection([("a", 1)]).filter(lambda rule: False).broadcast(RULES)
    return env.from_collection(["a", "b"]).connect(rules).process(Apply())
