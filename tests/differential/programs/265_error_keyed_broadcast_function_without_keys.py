"""A KeyedBroadcastProcessFunction needs a keyed stream.

compare: raises:TypeError
parallelism: 1
mode: streaming
"""

from pyflink.common import Types
from pyflink.datastream import DataStream, KeyedBroadcastProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import MapStateDescriptor

RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


class Same(KeyedBroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield value

    def process_broadcast_element(self, value, ctx):
        pass


def build(env: StreamExecutionEnvironment) -> DataStream:
    rules = env.from_collection([("a", 1)]).broadcast(RULES)
    return env.from_collection([("a", 1)]).connect(rules).process(Same())
