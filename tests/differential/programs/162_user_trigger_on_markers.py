"""A user's trigger on a global window: a marker among the records fires and purges.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment, Trigger, TriggerResult
from pyflink.datastream.functions import WindowFunction
from pyflink.datastream.window import GlobalWindows


class OnMarker(Trigger):
    def on_element(self, element, timestamp, window, ctx):
        return TriggerResult.FIRE_AND_PURGE if element[1] == "end" else TriggerResult.CONTINUE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_merge(self, window, ctx):
        pass

    def clear(self, window, ctx):
        pass


class Show(WindowFunction):
    def apply(self, key, window, inputs):
        yield key, [element[1] for element in inputs]


EVENTS = [
    ("a", "x"),
    ("b", "y"),
    ("a", "z"),
    ("a", "end"),
    ("a", "end"),
    ("b", "end"),
    ("a", "rest"),
]


def build(env: StreamExecutionEnvironment) -> DataStream:
    windowed = (
        env.from_collection(EVENTS).key_by(lambda event: event[0]).window(GlobalWindows.create())
    )
    return windowed.trigger(OnMarker()).apply(Show())
