"""State of window functions: by window, and by key."""

from pyflink.common import Types
from pyflink.common.time import Time
from pyflink.datastream import DataStream, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from pyflink.datastream.window import CountTrigger

from .common import FIVE_SECONDS, SESSIONS, Sum, ordered, program, timed


class Firings(ProcessWindowFunction):
    def __init__(self):
        self.descriptor = ValueStateDescriptor("firings", Types.LONG())

    def process(self, key, context, elements):
        state = context.window_state().get_state(self.descriptor)
        count = (state.value() or 0) + 1
        state.update(count)
        yield key, context.window().start, count, sorted(element[1] for element in elements)

    def clear(self, context):
        context.window_state().get_state(self.descriptor).clear()


@program(191, compare="ordered_by_key:0", mode="streaming")
def window_state_by_window(env: StreamExecutionEnvironment) -> DataStream:
    """State by window: it counts the firings of each window by itself."""
    events = [
        ("a", 1, 1_000),
        ("a", 2, 6_000),
        ("a", 3, 2_000),
        ("a", 4, 7_000),
        ("a", 5, 3_000),
        ("b", 6, 1_000),
    ]
    windowed = timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    return windowed.trigger(CountTrigger.of(1)).process(Firings())


EVENTS = [("a", 1, 1_000), ("a", 2, 6_000), ("a", 4, 2_000), ("b", 8, 7_000), ("a", 16, 30_000)]


class RunningTotal(ProcessWindowFunction):
    def __init__(self):
        self.descriptor = ValueStateDescriptor("so far", Types.LONG())

    def process(self, key, context, elements):
        state = context.global_state().get_state(self.descriptor)
        total = (state.value() or 0) + sum(element[1] for element in elements)
        state.update(total)
        yield key, context.window().start, total


@program(192, compare="ordered_by_key:0", mode="streaming")
def window_global_state(env: StreamExecutionEnvironment) -> DataStream:
    """Global state of a window function: each window of a key sees what the ones before left."""
    return (
        timed(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(FIVE_SECONDS)
        .process(RunningTotal())
    )


class Ended(ProcessWindowFunction):
    def __init__(self):
        self.ended = ValueStateDescriptor("ended", Types.LONG())

    def process(self, key, context, elements):
        state = context.global_state().get_state(self.ended)
        yield key, context.window().start, state.value()

    def clear(self, context):
        state = context.global_state().get_state(self.ended)
        state.update((state.value() or 0) + 1)


@program(193, compare="ordered_by_key:0", mode="streaming")
def window_clear_is_called(env: StreamExecutionEnvironment) -> DataStream:
    """A window function's ``clear`` runs when its window ends.

    It counts in global state, and the windows that come after see how many ended.
    """
    events = [
        ("a", 1, 1_000),
        ("a", 2, 6_000),
        ("a", 4, 12_000),
        ("b", 8, 7_000),
        ("a", 16, 31_000),
    ]
    return timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS).process(Ended())


class AllKindsOfState(ProcessWindowFunction):
    def process(self, key, context, elements):
        state = context.window_state()
        values = [element[1] for element in elements]
        sizes = state.get_list_state(ListStateDescriptor("sizes", Types.LONG()))
        seen = state.get_map_state(MapStateDescriptor("seen", Types.LONG(), Types.LONG()))
        largest = state.get_reducing_state(ReducingStateDescriptor("largest", max, Types.LONG()))
        total = state.get_aggregating_state(
            AggregatingStateDescriptor("total", Sum(), Types.LONG())
        )
        sizes.add(len(values))
        seen.put(values[-1], len(values))
        largest.add(values[-1])
        total.add((key, values[-1]))
        yield (
            key,
            context.window().start,
            list(sizes.get()),
            sorted(seen.items()),
            largest.get(),
            total.get(),
        )

    def clear(self, context):
        context.window_state().get_list_state(ListStateDescriptor("sizes", Types.LONG())).clear()


@program(194, compare="ordered_by_key:0", mode="streaming")
def window_state_of_other_kinds(env: StreamExecutionEnvironment) -> DataStream:
    """List, map, reducing and aggregating state by window, over the firings of a count trigger."""
    events = [
        ("a", 1, 1_000),
        ("a", 9, 6_000),
        ("a", 3, 2_000),
        ("a", 2, 7_000),
        ("a", 5, 3_000),
        ("b", 6, 1_000),
    ]
    windowed = timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    return windowed.trigger(CountTrigger.of(1)).process(AllKindsOfState())


class Opened(ProcessWindowFunction):
    def open(self, runtime_context: RuntimeContext):
        self.windows = runtime_context.get_state(ValueStateDescriptor("windows", Types.LONG()))
        self.factor = 100

    def process(self, key, context, elements):
        count = (self.windows.value() or 0) + 1
        self.windows.update(count)
        yield key, count, self.factor * sum(element[1] for element in elements)


@program(195, compare="ordered_by_key:0", mode="streaming")
def window_function_open(env: StreamExecutionEnvironment) -> DataStream:
    """A window function opens and gets state from the runtime context: it is state by key."""
    return timed(env, EVENTS).key_by(lambda event: event[0]).window(FIVE_SECONDS).process(Opened())


class RunningTotalForAnHour(ProcessWindowFunction):
    def process(self, key, context, elements):
        descriptor = ValueStateDescriptor("so far", Types.LONG())
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
        state = context.global_state().get_state(descriptor)
        state.update((state.value() or 0) + sum(element[1] for element in elements))
        yield key, context.window().start, state.value()


@program(228, compare="ordered_by_key:0", mode="streaming")
def window_ttl_state(env: StreamExecutionEnvironment) -> DataStream:
    """Global state of a window function with a time to live of an hour: nothing expires."""
    return (
        timed(env, EVENTS)
        .key_by(lambda event: event[0])
        .window(FIVE_SECONDS)
        .process(RunningTotalForAnHour())
    )


class FiringsUntilCleared(ProcessWindowFunction):
    def process(self, key, context, elements):
        state = context.window_state().get_state(ValueStateDescriptor("firings", Types.LONG()))
        cleared = context.global_state().get_state(ValueStateDescriptor("cleared", Types.LONG()))
        state.update((state.value() or 0) + 1)
        yield key, context.window().start, state.value(), len(list(elements)), cleared.value()

    def clear(self, context):
        context.window_state().get_state(ValueStateDescriptor("firings", Types.LONG())).clear()
        cleared = context.global_state().get_state(ValueStateDescriptor("cleared", Types.LONG()))
        cleared.update((cleared.value() or 0) + 1)


@program(242, compare="ordered_by_key:0", mode="streaming", watermarks="each record")
def late_firing_sees_window_state(env: StreamExecutionEnvironment) -> DataStream:
    """State by window lives until the allowed lateness is over: late firings go on counting.

    Then ``clear`` ends it.
    """
    events = [
        ("a", 1, 1_000),
        ("a", 2, 5_100),
        ("a", 4, 2_000),
        ("a", 8, 3_000),
        ("a", 16, 8_500),
        ("a", 32, 4_000),
        ("a", 64, 15_000),
    ]
    windowed = ordered(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    return windowed.allowed_lateness(3_000).process(FiringsUntilCleared())


class CountByWindow(ProcessWindowFunction):
    def process(self, key, context, elements):
        state = context.window_state().get_state(ValueStateDescriptor("count", Types.LONG()))
        state.update(1)
        yield key


@program(259, compare="raises:Exception", mode="streaming")
def error_window_state_of_sessions(env: StreamExecutionEnvironment) -> DataStream:
    """State by window is refused where windows merge."""
    windowed = timed(env, [("a", 1, 2)]).key_by(lambda event: event[0]).window(SESSIONS)
    return windowed.process(CountByWindow())
