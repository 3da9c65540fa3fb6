"""Map state: every method and operator of it.

PyFlink 2.3's put_all takes the keys of a dict apart as pairs, so it is given pairs.
In BATCH it takes records without timestamps in no certain order.

compare: ordered_by_key:0
parallelism: 2
mode: streaming
"""

from pyflink.common import Types
from pyflink.datastream import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import MapStateDescriptor


class Commands(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.state = runtime_context.get_map_state(
            MapStateDescriptor("map", Types.STRING(), Types.LONG())
        )

    def process_element(self, value, ctx):
        key, command, argument = value
        state = self.state
        answer = None
        if command == "put":
            state.put(*argument)
        elif command == "setitem":
            state[argument[0]] = argument[1]
        elif command == "put_all":
            state.put_all(argument)
        elif command == "get":
            answer = state.get(argument)
        elif command == "getitem":
            answer = state[argument]
        elif command == "contains":
            answer = (state.contains(argument), argument in state)
        elif command == "remove":
            state.remove(argument)
        elif command == "del":
            del state[argument]
        elif command == "clear":
            state.clear()
        yield (
            key,
            command,
            answer,
            state.is_empty(),
            sorted(state.items()),
            sorted(state.keys()),
            sorted(state.values()),
            sorted(iter(state)),
        )


def build(env: StreamExecutionEnvironment) -> DataStream:
    commands = [
        ("a", "look", None),
        ("a", "put", ("x", 1)),
        ("a", "setitem", ("y", 2)),
        ("b", "put_all", [("p", 5), ("q", 6)]),
        ("a", "get", "x"),
        ("a", "get", "missing"),
        ("a", "getitem", "y"),
        ("a", "contains", "x"),
        ("a", "contains", "missing"),
        ("a", "put", ("x", 10)),
        ("a", "remove", "x"),
        ("b", "del", "p"),
        ("b", "clear", None),
        ("b", "put", ("z", 0)),
        ("a", "remove", "missing"),
    ]
    return env.from_collection(commands).key_by(lambda item: item[0]).process(Commands())
