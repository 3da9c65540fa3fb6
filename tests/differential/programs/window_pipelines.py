"""Windows within a larger pipeline: what comes before them and after."""

from pyflink.common import Types
from pyflink.common.time import Time
from pyflink.datastream import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.functions import (
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from pyflink.datastream.state import ListStateDescriptor
from pyflink.datastream.window import TumblingEventTimeWindows

from .common import FIVE_SECONDS, SESSIONS, Span, Sum, add, program, timed


class Total(WindowFunction):
    def apply(self, key, window, inputs):
        yield key, sum(element[1] for element in inputs), window.end


class Largest(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield context.window().start, max((total, name) for name, total, _ in elements)


@program(208, compare="ordered")
def window_after_window(env: StreamExecutionEnvironment) -> DataStream:
    """Sums by key and window, and then the largest of each window over all keys."""
    events = [
        ("a", 1, 1_000),
        ("b", 7, 4_000),
        ("a", 3, 4_999),
        ("b", 2, 6_000),
        ("a", 5, 12_000),
        ("c", 6, 13_000),
    ]
    totals = timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS).apply(Total())
    return totals.window_all(FIVE_SECONDS).process(Largest())


@program(209, compare="ordered_by_key:0", parallelism=2)
def window_into_a_longer_window(env: StreamExecutionEnvironment) -> DataStream:
    """Sums of five seconds, summed again by fifteen."""
    events = [
        ("a", 1, 1_000),
        ("b", 7, 4_000),
        ("a", 3, 4_999),
        ("b", 2, 6_000),
        ("a", 5, 12_000),
        ("c", 6, 16_000),
        ("a", 9, 15_000),
    ]
    totals = timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS).apply(Total())
    return (
        totals.key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(15)))
        .process(Span())
    )


class Report(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.totals = runtime_context.get_list_state(ListStateDescriptor("totals", Types.LONG()))

    def process_element(self, value, ctx):
        self.totals.add(value[1])
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 7_000)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp


@program(210, compare="ordered_by_key:0", mode="streaming")
def window_then_timers(env: StreamExecutionEnvironment) -> DataStream:
    """Results of windows in a keyed process function with event-time timers.

    A window is noted, and reported seven seconds after its end.
    """
    events = [("a", 1, 1_000), ("b", 7, 4_000), ("a", 3, 4_999), ("b", 2, 6_000), ("a", 5, 12_000)]
    totals = timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS).reduce(add)
    return totals.key_by(lambda event: event[0]).process(Report())


class TotalByItem(ProcessWindowFunction):
    def process(self, key, context, elements):
        for total in elements:
            yield key, total, context.window().end


class TopTwo(ProcessAllWindowFunction):
    def process(self, context, elements):
        ranked = sorted(elements, key=lambda total: (-total[1], total[0]))
        yield context.window().end, [(name, total) for name, total, _ in ranked[:2]]


@program(211, compare="ordered")
def top_two_of_a_window(env: StreamExecutionEnvironment) -> DataStream:
    """The two best sellers of each window: totals by item, then the items side by side."""
    events = [
        ("tea", 1, 1_000),
        ("milk", 2, 1_500),
        ("rice", 3, 2_000),
        ("tea", 3, 3_000),
        ("milk", 1, 6_000),
        ("rice", 1, 7_000),
        ("salt", 9, 8_000),
        ("tea", 2, 9_000),
    ]
    totals = (
        timed(env, events)
        .key_by(lambda event: event[0])
        .window(FIVE_SECONDS)
        .aggregate(Sum(), TotalByItem())
    )
    return totals.window_all(FIVE_SECONDS).process(TopTwo())


@program(212, compare="ordered_by_key:0", mode="streaming")
def window_then_count_window(env: StreamExecutionEnvironment) -> DataStream:
    """Two windows of time of each key make one window of count."""
    events = [
        ("a", 1, 1_000),
        ("b", 7, 4_000),
        ("a", 3, 4_999),
        ("b", 2, 6_000),
        ("a", 5, 12_000),
        ("a", 9, 22_000),
    ]
    totals = timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS).reduce(add)
    return totals.key_by(lambda event: event[0]).count_window(2).reduce(add)


@program(221, compare="ordered_by_key:0")
def union_then_window(env: StreamExecutionEnvironment) -> DataStream:
    """Two streams with strategies of their own, in one union and one window."""
    left = [("a", 1, 1_000), ("b", 2, 6_000), ("a", 3, 4_999)]
    right = [("a", 10, 2_000), ("b", 20, 7_000), ("c", 30, 14_000)]
    both = timed(env, left).union(timed(env, right))
    return both.key_by(lambda event: event[0]).window(FIVE_SECONDS).process(Span())


EVENTS = [("a", 1, 1_000), ("b", 2, 6_000), ("a", 3, 4_999), ("a", 4, 12_000)]


def twice(event):
    yield event[0], event[1]
    yield event[0], -event[1]


@program(223, compare="ordered_by_key:0", parallelism=2)
def window_after_map_keeps_time(env: StreamExecutionEnvironment) -> DataStream:
    """Timestamps go through map, filter and flat_map: the window comes after them."""
    stream = timed(env, EVENTS).filter(lambda event: event[1] != 4).flat_map(twice)
    return stream.key_by(lambda event: event[0]).window(FIVE_SECONDS).process(Span())


class Named(ProcessWindowFunction):
    def __init__(self, name):
        self.name = name

    def process(self, key, context, elements):
        window = context.window()
        yield self.name + key, window.start, window.end, len(list(elements))


@program(225, compare="ordered_by_key:0")
def two_windows_of_one_stream(env: StreamExecutionEnvironment) -> DataStream:
    """One keyed stream in two kinds of windows, and the union of their results."""
    keyed = timed(env, EVENTS).key_by(lambda event: event[0])
    tumbling = keyed.window(FIVE_SECONDS).process(Named("tumbling "))
    sessions = keyed.window(SESSIONS).process(Named("session "))
    return tumbling.union(sessions)


@program(226, compare="multiset")
def window_of_an_empty_stream(env: StreamExecutionEnvironment) -> DataStream:
    """Windows over a stream in which a filter leaves nothing."""
    stream = timed(env, [("a", 1, 1_000), ("b", 2, 6_000)]).filter(lambda event: False)
    return stream.key_by(lambda event: event[0]).window(FIVE_SECONDS).reduce(add)


class Empty(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, None, [], "", 0


@program(227, compare="ordered_by_key:0", mode="streaming")
def window_of_none_values(env: StreamExecutionEnvironment) -> DataStream:
    """None and other empty values in what windows give."""
    events = [("a", None, 1_000), ("b", None, 6_000), ("a", None, 12_000)]
    return timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS).process(Empty())


@program(229, compare="ordered_by_key:0", parallelism=2, mode="streaming")
def window_parallelism_and_names(env: StreamExecutionEnvironment) -> DataStream:
    """A window operator with a name, a uid and a parallelism of its own."""
    windowed = timed(env, EVENTS).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    return windowed.process(Span()).name("spans").uid("spans").set_parallelism(1)
