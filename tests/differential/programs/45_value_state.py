"""Value state: its default, an update, an update to None, and clear.

compare: ordered_by_key:0
parallelism: 2
mode: streaming, batch
"""

from pyflink.common import Types
from pyflink.datastream import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ValueStateDescriptor


class Commands(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.state = runtime_context.get_state(
            ValueStateDescriptor("value", Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value, ctx):
        key, command, argument = value
        before = self.state.value()
        if command == "set":
            self.state.update(argument)
        elif command == "clear":
            self.state.clear()
        yield key, command, before, self.state.value()


def build(env: StreamExecutionEnvironment) -> DataStream:
    commands = [
        ("a", "look", None),
        ("a", "set", {"x": [1]}),
        ("b", "look", None),
        ("a", "look", None),
        ("a", "set", 0),
        ("a", "clear", None),
        ("a", "look", None),
        ("a", "clear", None),
        ("b", "set", (1, "t")),
        ("b", "look", None),
    ]
    return env.from_collection(commands).key_by(lambda item: item[0]).process(Commands())
