"""What windows compute: reduce, aggregate, window functions, and the windows they see."""

from itertools import pairwise

from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    AggregateFunction,
    DataStream,
    OutputTag,
    ReduceFunction,
    StreamExecutionEnvironment,
)
from pyflink.datastream.functions import ProcessWindowFunction, WindowFunction
from pyflink.datastream.window import CountWindow, GlobalWindow, SlidingEventTimeWindows, TimeWindow

from .common import FIVE_SECONDS, SESSIONS, AsRow, Last, SpanTotal, Sum, add, program, timed

EVENTS = [("a", 1, 1_000), ("b", 2, 6_000), ("a", 3, 4_999), ("a", 5, 12_000)]


class Larger(ReduceFunction):
    def reduce(self, value1, value2):
        return value1 if value1[1] >= value2[1] else value2


class ValueFromStart(WindowFunction):
    def apply(self, key, window, inputs):
        for element in inputs:
            yield key, window.start, element[1]


@program(180, compare="ordered_by_key:0", parallelism=2)
def window_reduce_function_class(env: StreamExecutionEnvironment) -> DataStream:
    """A ReduceFunction and a WindowFunction after it, which gets one value."""
    windowed = timed(env, EVENTS).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    return windowed.reduce(Larger(), ValueFromStart())


class ValueToEnd(ProcessWindowFunction):
    def process(self, key, context, elements):
        for element in elements:
            yield key, context.window().end, element[1]


@program(181, compare="ordered_by_key:0", parallelism=2)
def window_reduce_then_process(env: StreamExecutionEnvironment) -> DataStream:
    """A reduce and a ProcessWindowFunction after it, with a declared type for the result."""
    windowed = timed(env, EVENTS).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    return windowed.reduce(
        add, ValueToEnd(), output_type=Types.TUPLE([Types.STRING(), Types.LONG(), Types.INT()])
    )


@program(182, compare="multiset", parallelism=2)
def window_aggregate(env: StreamExecutionEnvironment) -> DataStream:
    """An AggregateFunction alone: its result knows neither key nor window."""
    return timed(env, EVENTS).key_by(lambda event: event[0]).window(FIVE_SECONDS).aggregate(Sum())


class ApplySpan(WindowFunction):
    def apply(self, key, window, inputs):
        for total in inputs:
            yield key, window.start, window.end, total


@program(183, compare="ordered_by_key:0", parallelism=2)
def window_aggregate_then_apply(env: StreamExecutionEnvironment) -> DataStream:
    """An AggregateFunction with a WindowFunction after it."""
    windowed = timed(env, EVENTS).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    return windowed.aggregate(Sum(), ApplySpan())


class TotalAtEnd(ProcessWindowFunction):
    def process(self, key, context, elements):
        for total in elements:
            yield key, context.window().max_timestamp(), total


@program(184, compare="ordered_by_key:0", parallelism=2)
def window_aggregate_then_process(env: StreamExecutionEnvironment) -> DataStream:
    """An AggregateFunction with a ProcessWindowFunction after it."""
    events = [("a", 1, 1_000), ("b", 2, 6_000), ("a", 3, 4_999), ("a", 5, 12_000), ("a", 5, 17_000)]
    windowed = (
        timed(env, events)
        .key_by(lambda event: event[0])
        .window(SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5)))
    )
    return windowed.aggregate(Sum(), window_function=TotalAtEnd())


class Average(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


@program(185, compare="multiset")
def window_aggregate_types(env: StreamExecutionEnvironment) -> DataStream:
    """An average with declared types of accumulator and result."""
    events = [("a", 1, 1_000), ("b", 2, 6_000), ("a", 4, 4_999), ("a", 5, 12_000)]
    windowed = timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    return windowed.aggregate(
        Average(),
        accumulator_type=Types.TUPLE([Types.LONG(), Types.LONG()]),
        output_type=Types.DOUBLE(),
    )


@program(186, compare="ordered_by_key:0")
def window_aggregate_on_sessions_with_function(env: StreamExecutionEnvironment) -> DataStream:
    """Sessions, aggregated, with the bounds of each by a ProcessWindowFunction."""
    events = [
        ("a", 1, 4_000),
        ("a", 2, 0),
        ("a", 4, 8_000),
        ("a", 8, 12_000),
        ("b", 16, 1),
        ("b", 32, 50_000),
    ]
    windowed = timed(env, events).key_by(lambda event: event[0]).window(SESSIONS)
    return windowed.aggregate(Sum(), SpanTotal())


class InOrder(WindowFunction):
    def apply(self, key, window, inputs):
        yield key, window.start, [element[1] for element in inputs]


@program(187, compare="ordered_by_key:0", mode="streaming")
def window_apply(env: StreamExecutionEnvironment) -> DataStream:
    """A WindowFunction gets the elements of a window in the order of their arrival."""
    events = [("a", 3, 3_000), ("b", 2, 6_000), ("a", 1, 1_000), ("a", 2, 2_000), ("a", 5, 12_000)]
    return timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS).apply(InOrder())


class Pairwise(ProcessWindowFunction):
    def process(self, key, context, elements):
        values = sorted(element[1] for element in elements)
        for left, right in pairwise(values):
            yield key, left, right


@program(188, compare="ordered_by_key:0")
def window_process_many_or_none(env: StreamExecutionEnvironment) -> DataStream:
    """A ProcessWindowFunction that gives several results for a window, or none."""
    events = [
        ("a", 3, 3_000),
        ("b", 2, 6_000),
        ("a", 1, 1_000),
        ("a", 2, 2_000),
        ("a", 5, 12_000),
        ("a", 4, 4_000),
    ]
    return (
        timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS).process(Pairwise())
    )


class Listed(ProcessWindowFunction):
    def process(self, key, context, elements):
        return [(key, context.window().start, len(list(elements))), (key, "end", 0)]


class Applied(WindowFunction):
    def apply(self, key, window, inputs):
        return [(key, element[1]) for element in inputs]


@program(189, compare="ordered_by_key:0", mode="streaming")
def window_functions_that_return(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Window functions that return a list and do not yield."""
    events = [("a", 3, 3_000), ("b", 2, 6_000), ("a", 1, 3_500)]

    def windows():
        return timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS)

    return {"process": windows().process(Listed()), "apply": windows().apply(Applied())}


LARGE = OutputTag("large", Types.TUPLE([Types.STRING(), Types.INT()]))


class LargeApart(ProcessWindowFunction):
    def process(self, key, context, elements):
        count = len(list(elements))
        if count > 2:
            yield LARGE, (key, count)
        else:
            yield key, context.window().start, count


@program(190, compare="ordered_by_key:0")
def window_function_side_output(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Side outputs of a window function: large windows go to one side."""
    events = [("a", 1, 1_000), ("a", 2, 2_000), ("a", 3, 3_000), ("b", 4, 2_000), ("a", 5, 8_000)]
    main = (
        timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS).process(LargeApart())
    )
    return {"main": main, "large": main.get_side_output(LARGE)}


class AsTuple(WindowFunction):
    def apply(self, key, window, inputs):
        yield key, len(list(inputs))


class AsText(WindowFunction):
    def apply(self, key, window, inputs):
        yield f"{key} {len(list(inputs))}"


@program(197, compare="multiset")
def window_results_of_declared_types(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Results of windows with declared types: a tuple, a named row, a text."""
    events = [("a", 1, 1_000), ("a", 2, 6_000), ("a", 4, 2_000), ("b", 8, 7_000)]

    def windows():
        return timed(env, events).key_by(lambda event: event[0]).window(FIVE_SECONDS)

    row = Types.ROW_NAMED(["name", "start", "count"], [Types.STRING(), Types.LONG(), Types.INT()])
    return {
        "tuple": windows().apply(
            AsTuple(), output_type=Types.TUPLE([Types.STRING(), Types.LONG()])
        ),
        "row": windows().apply(AsRow(), output_type=row),
        "text": windows().apply(AsText(), output_type=Types.STRING()),
    }


class At(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value.at


def add_rows(left, right):
    return Row(left.name, left.value + right.value, max(left.at, right.at))


@program(198, compare="multiset")
def window_reduce_of_rows(env: StreamExecutionEnvironment) -> DataStream:
    """Rows of a declared type, reduced by window: the result has that type, names too."""
    row_type = Types.ROW_NAMED(["name", "value", "at"], [Types.STRING(), Types.INT(), Types.LONG()])
    events = [Row("a", 1, 1_000), Row("b", 2, 6_000), Row("a", 3, 4_999), Row("a", 5, 12_000)]
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(10))
    stream = env.from_collection(events, type_info=row_type)
    stamped = stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(At()))
    keyed = stamped.key_by(lambda row: row.name, key_type=Types.STRING())
    return keyed.window(FIVE_SECONDS).reduce(add_rows)


class TypeAndElements(ProcessWindowFunction):
    def process(self, key, context, elements):
        elements = sorted(elements)
        yield key, type(elements[0]).__name__, elements


@program(199, compare="ordered_by_key:0")
def window_of_typed_tuples(env: StreamExecutionEnvironment) -> DataStream:
    """Tuples of a declared type reach the window function as tuples."""
    tuple_type = Types.TUPLE([Types.STRING(), Types.DOUBLE(), Types.LONG()])
    events = [("a", 1.5, 1_000), ("b", 2.0, 6_000), ("a", 3.25, 4_999)]
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(10))
    stream = env.from_collection(events, type_info=tuple_type)
    stamped = stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(Last()))
    return (
        stamped.key_by(lambda event: event[0], key_type=Types.STRING())
        .window(FIVE_SECONDS)
        .process(TypeAndElements())
    )


def time_window_facts(number):
    one, two, three = TimeWindow(0, 10), TimeWindow(10, 20), TimeWindow(5, 11)
    yield "text", str(one), repr([one, three])
    yield "bounds", one.start, one.end, one.max_timestamp()
    yield "equal", one == TimeWindow(0, 10), one == two, hash(one) == hash(TimeWindow(0, 10))
    yield "order", one < two, two < one, one <= one, sorted([two, three, one]) == [one, three, two]
    yield (
        "intersects",
        one.intersects(two),
        one.intersects(three),
        one.intersects(TimeWindow(11, 12)),
    )
    yield "cover", str(one.cover(two)), str(two.cover(three))
    for timestamp in (-11, -10, -1, 0, 9, 10):
        yield "start", timestamp, TimeWindow.get_window_start_with_offset(timestamp, 0, 10)
        yield (
            "start with offset",
            timestamp,
            TimeWindow.get_window_start_with_offset(timestamp, 3, 10),
        )


@program(203, compare="ordered", mode="streaming")
def time_window_methods(env: StreamExecutionEnvironment) -> DataStream:
    """What a time window can do: compare, intersect, cover, say its bounds."""
    return env.from_collection([1]).flat_map(time_window_facts)


def other_window_facts(number):
    yield "count", CountWindow(3).id, str(CountWindow(3)), CountWindow(3).max_timestamp()
    yield "count equal", CountWindow(3) == CountWindow(3), CountWindow(3) == CountWindow(4)
    yield "global", str(GlobalWindow.get()), GlobalWindow.get().max_timestamp()
    yield "global equal", GlobalWindow.get() == GlobalWindow(), GlobalWindow() == CountWindow(3)


@program(204, compare="ordered", mode="streaming")
def other_windows_methods(env: StreamExecutionEnvironment) -> DataStream:
    """What count windows and global windows say about themselves."""
    return env.from_collection([1]).flat_map(other_window_facts)
