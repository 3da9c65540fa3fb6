"""A user's assigner with keyed state: each record with a minus sign opens the next window of its
key.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
"""

from pyflink.common import Types
from pyflink.datastream import DataStream, StreamExecutionEnvironment, WindowAssigner
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import CountTrigger, CountWindow, CountWindowSerializer


class ByMarker(WindowAssigner):
    def __init__(self):
        self.descriptor = ValueStateDescriptor("number of the window", Types.LONG())

    def assign_windows(self, element, timestamp, context):
        number = context.get_runtime_context().get_state(self.descriptor)
        if element[1] < 0:
            number.update((number.value() or 0) + 1)
        return [CountWindow(number.value() or 0)]

    def get_default_trigger(self, env):
        return CountTrigger.of(2)

    def get_window_serializer(self):
        return CountWindowSerializer()

    def is_event_time(self):
        return False


class Show(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, context.window().id, [element[1] for element in elements]


EVENTS = [
    ("a", 1),
    ("a", 2),
    ("a", -3),
    ("b", 4),
    ("a", 5),
    ("a", 6),
    ("a", -7),
    ("b", -8),
    ("b", 9),
    ("a", 10),
]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        env.from_collection(EVENTS)
        .key_by(lambda event: event[0])
        .window(ByMarker())
        .process(Show())
    )
