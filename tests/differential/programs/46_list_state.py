"""List state: get on empty, add, add_all, update, clear, and iteration.

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
from pyflink.datastream.state import ListStateDescriptor


class Commands(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.state = runtime_context.get_list_state(ListStateDescriptor("list", Types.LONG()))

    def process_element(self, value, ctx):
        key, command, argument = value
        if command == "add":
            self.state.add(argument)
        elif command == "add_all":
            self.state.add_all(argument)
        elif command == "update":
            self.state.update(argument)
        elif command == "clear":
            self.state.clear()
        yield key, command, list(self.state.get()), [item for item in self.state]


def build(env: StreamExecutionEnvironment) -> DataStream:
    commands = [
        ("a", "look", None),
        ("a", "add", 1),
        ("b", "add", 7),
        ("a", "add_all", [2, 3]),
        ("a", "update", [9]),
        ("a", "add", 9),
        ("a", "clear", None),
        ("a", "add", 4),
        ("b", "update", []),
        ("b", "add", 8),
    ]
    return env.from_collection(commands).key_by(lambda item: item[0]).process(Commands())
