"""A user's trigger with a processing-time timer far ahead. A batch fires it at the end of the
key.

compare: multiset
parallelism: 1
mode: batch
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment, Trigger, TriggerResult
from pyflink.datastream.window import GlobalWindows


class Later(Trigger):
    def on_element(self, element, timestamp, window, ctx):
        if element[1] == 1:
            ctx.register_processing_time_timer(ctx.get_current_processing_time() + 3_600_000)
        return TriggerResult.CONTINUE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.FIRE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_merge(self, window, ctx):
        pass

    def clear(self, window, ctx):
        pass


def build(env: StreamExecutionEnvironment) -> DataStream:
    windowed = (
        env.from_collection([("a", 1), ("b", 2), ("a", 3)])
        .key_by(lambda event: event[0])
        .window(GlobalWindows.create())
    )
    return windowed.trigger(Later()).reduce(lambda left, right: (left[0], left[1] + right[1]))
