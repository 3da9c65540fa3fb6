"""Windows over the whole stream."""

from pyflink.common import Types
from pyflink.common.time import Time
from pyflink.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from pyflink.datastream.functions import AllWindowFunction, ProcessAllWindowFunction
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import (
    CountTrigger,
    CountTumblingWindowAssigner,
    EventTimeSessionWindows,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
)

from .common import FIVE_SECONDS, Sum, add, ordered, program, timed


def largest(left, right):
    return max(left, right, key=lambda event: event[1])


@program(135, compare="ordered")
def window_all_reduce(env: StreamExecutionEnvironment) -> DataStream:
    """Windows over the whole stream, reduced; they come in the order of their ends."""
    events = [("a", 1, 1_000), ("b", 2, 6_000), ("a", 3, 4_999), ("b", 4, 2_000), ("a", 5, 12_000)]
    return timed(env, events).window_all(FIVE_SECONDS).reduce(largest)


EVENTS = [("a", 1_000), ("b", 6_000), ("c", 4_999), ("d", 2_000), ("e", 12_000)]


class NamesOfSpan(ProcessAllWindowFunction):
    def process(self, context, elements):
        window = context.window()
        yield window.start, window.end, sorted(element[0] for element in elements)


@program(136, compare="ordered")
def window_all_process(env: StreamExecutionEnvironment) -> DataStream:
    """A ProcessAllWindowFunction sees the window and all of its elements."""
    return timed(env, EVENTS).window_all(FIVE_SECONDS).process(NamesOfSpan())


class CountFromStart(AllWindowFunction):
    def apply(self, window, inputs):
        yield window.start, len(list(inputs))


@program(137, compare="ordered")
def window_all_apply(env: StreamExecutionEnvironment) -> DataStream:
    """An AllWindowFunction over sliding windows of the whole stream."""
    return (
        timed(env, EVENTS)
        .window_all(SlidingEventTimeWindows.of(Time.seconds(6), Time.seconds(3)))
        .apply(CountFromStart())
    )


class ApplyToTotals(AllWindowFunction):
    def apply(self, window, inputs):
        for total in inputs:
            yield "apply", window.end, total


class ProcessTotals(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield "process", context.window().max_timestamp(), list(elements)


@program(138, compare="ordered")
def window_all_aggregate(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """An aggregate over the whole stream, alone and before either kind of window function."""
    events = [("a", 1, 1_000), ("b", 2, 6_000), ("c", 3, 4_999), ("d", 4, 2_000), ("e", 5, 12_000)]

    def windows():
        return timed(env, events).window_all(FIVE_SECONDS)

    return {
        "alone": windows().aggregate(Sum()),
        "apply": windows().aggregate(Sum(), ApplyToTotals()),
        "process": windows().aggregate(Sum(), ProcessTotals()),
    }


class ApplyToReduced(AllWindowFunction):
    def apply(self, window, inputs):
        yield "apply", window.start, list(inputs)


class ProcessReduced(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield "process", context.window().start, list(elements)


@program(139, compare="ordered", mode="streaming")
def window_all_reduce_with_functions(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """A reduce over the whole stream, before either kind of window function."""
    events = [("a", 1, 1_000), ("a", 2, 6_000), ("a", 3, 4_999), ("a", 4, 12_000)]

    def windows():
        return timed(env, events).window_all(FIVE_SECONDS)

    return {
        "apply": windows().reduce(add, ApplyToReduced()),
        "process": windows().reduce(add, ProcessReduced()),
    }


@program(140, compare="ordered")
def window_all_session(env: StreamExecutionEnvironment) -> DataStream:
    """Sessions of the whole stream."""
    events = [("a", 0), ("b", 9_000), ("c", 3_000), ("d", 5_500), ("e", 30_000)]
    return (
        timed(env, events)
        .window_all(EventTimeSessionWindows.with_gap(Time.seconds(4)))
        .process(NamesOfSpan())
    )


class SumWithText(AllWindowFunction):
    def apply(self, window, inputs):
        yield str(window), sum(inputs)


@program(141, compare="ordered")
def window_all_global(env: StreamExecutionEnvironment) -> DataStream:
    """A global window over the whole stream, fired by count."""
    stream = env.from_collection([1, 2, 3, 4, 5, 6, 7])
    return (
        stream.window_all(GlobalWindows.create()).trigger(CountTrigger.of(3)).apply(SumWithText())
    )


class SumById(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield context.window().id, sum(elements)


@program(142, compare="ordered")
def window_all_count(env: StreamExecutionEnvironment) -> DataStream:
    """Count windows over the whole stream."""
    return (
        env.from_collection([1, 2, 3, 4, 5, 6, 7])
        .window_all(CountTumblingWindowAssigner.of(3))
        .process(SumById())
    )


class ValuesInOrder(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield context.window().start, [element[1] for element in elements]


@program(177, compare="ordered", mode="streaming")
def trigger_of_window_all(env: StreamExecutionEnvironment) -> DataStream:
    """A purging count trigger on time windows over the whole stream."""
    events = [("a", number, 1_000 * number) for number in range(9)]
    windowed = timed(env, events).window_all(FIVE_SECONDS)
    return windowed.trigger(PurgingTrigger.of(CountTrigger.of(2))).process(ValuesInOrder())


class RunningTotal(ProcessAllWindowFunction):
    def process(self, context, elements):
        so_far = context.global_state().get_state(ValueStateDescriptor("so far", Types.LONG()))
        here = context.window_state().get_state(ValueStateDescriptor("here", Types.LONG()))
        so_far.update((so_far.value() or 0) + sum(element[1] for element in elements))
        here.update((here.value() or 0) + 1)
        yield context.window().start, so_far.value(), here.value()

    def clear(self, context):
        context.window_state().get_state(ValueStateDescriptor("here", Types.LONG())).clear()


@program(196, compare="ordered", mode="streaming")
def window_all_state(env: StreamExecutionEnvironment) -> DataStream:
    """State by window and global state of a ProcessAllWindowFunction."""
    events = [("a", 1, 1_000), ("a", 2, 6_000), ("a", 4, 2_000), ("b", 8, 7_000), ("a", 16, 30_000)]
    return timed(env, events).window_all(FIVE_SECONDS).process(RunningTotal())


class SortedValues(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield context.window().start, sorted(element[1] for element in elements)


@program(243, compare="ordered", mode="streaming", watermarks="each record")
def window_all_lateness(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Lateness of windows over the whole stream: refiring, and the side output."""
    late = OutputTag("late")
    events = [
        ("a", 1, 1_000),
        ("b", 2, 5_100),
        ("c", 4, 2_000),
        ("a", 8, 6_999),
        ("b", 16, 7_001),
        ("c", 32, 4_000),
    ]
    windowed = ordered(env, events).window_all(FIVE_SECONDS)
    main = windowed.allowed_lateness(2_000).side_output_late_data(late).process(SortedValues())
    return {"main": main, "late": main.get_side_output(late)}
