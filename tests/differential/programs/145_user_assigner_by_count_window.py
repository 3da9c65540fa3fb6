"""A user's assigner of count windows: odd values and even values apart.

compare: ordered_by_key:0
parallelism: 1
mode: streaming, batch
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment, WindowAssigner
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import CountTrigger, CountWindow, CountWindowSerializer


class Parity(WindowAssigner):
    def assign_windows(self, element, timestamp, context):
        return [CountWindow(element[1] % 2)]

    def get_default_trigger(self, env):
        return CountTrigger.of(2)

    def get_window_serializer(self):
        return CountWindowSerializer()

    def is_event_time(self):
        return False


class Show(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, context.window().id, sorted(element[1] for element in elements)


def build(env: StreamExecutionEnvironment) -> DataStream:
    keyed = env.from_collection([("a", number) for number in (1, 2, 3, 4, 5, 6, 8)]).key_by(
        lambda event: event[0]
    )
    return keyed.window(Parity()).process(Show())
