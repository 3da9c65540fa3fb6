"""A user's trigger with list state and map state: it fires when a value comes a second time, and
purges when three different ones have come.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
"""

from pyflink.common import Types
from pyflink.datastream import DataStream, StreamExecutionEnvironment, Trigger, TriggerResult
from pyflink.datastream.functions import WindowFunction
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor
from pyflink.datastream.window import GlobalWindows


class Repeated(Trigger):
    def __init__(self):
        self.counts = MapStateDescriptor("counts", Types.LONG(), Types.LONG())
        self.order = ListStateDescriptor("order", Types.LONG())

    def on_element(self, element, timestamp, window, ctx):
        counts = ctx.get_partitioned_state(self.counts)
        order = ctx.get_partitioned_state(self.order)
        if counts.contains(element[1]):
            counts.put(element[1], counts.get(element[1]) + 1)
            return TriggerResult.FIRE
        counts.put(element[1], 1)
        order.add(element[1])
        if len(list(order.get())) == 3:
            counts.clear()
            order.clear()
            return TriggerResult.FIRE_AND_PURGE
        return TriggerResult.CONTINUE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_merge(self, window, ctx):
        pass

    def clear(self, window, ctx):
        ctx.get_partitioned_state(self.counts).clear()
        ctx.get_partitioned_state(self.order).clear()


class Show(WindowFunction):
    def apply(self, key, window, inputs):
        yield key, [element[1] for element in inputs]


EVENTS = [("a", value) for value in (1, 2, 1, 3, 3, 3, 4)] + [("b", 1), ("b", 1)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    windowed = (
        env.from_collection(EVENTS).key_by(lambda event: event[0]).window(GlobalWindows.create())
    )
    return windowed.trigger(Repeated()).apply(Show())
