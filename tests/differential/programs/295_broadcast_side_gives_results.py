"""The broadcast side yields records and side outputs too, once for each rule with one subtask.

compare: multiset
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import Types
from pyflink.datastream import (
    BroadcastProcessFunction,
    DataStream,
    OutputTag,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import MapStateDescriptor

NOTES = OutputTag("notes", Types.STRING())
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


class Both(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield "element", value
        yield NOTES, f"element {value}"

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value[0], value[1])
        yield "rule", value[0]
        yield NOTES, f"rule {value[0]}"


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    rules = env.from_collection([("a", 7), ("b", 8)]).broadcast(RULES)
    main = env.from_collection([1, 2, 3]).connect(rules).process(Both())
    return {"main": main, "notes": main.get_side_output(NOTES)}
