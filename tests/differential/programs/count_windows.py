"""Windows of count, and global windows with a trigger that counts."""

from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction, WindowFunction
from pyflink.datastream.window import (
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    GlobalWindows,
    PurgingTrigger,
)

from .common import Sum, add, program, timed


@program(122, compare="ordered_by_key:0")
def count_window(env: StreamExecutionEnvironment) -> DataStream:
    """Count windows of three, reduced; records left over give nothing. No timestamps are needed."""
    events = [
        ("a", 1),
        ("b", 10),
        ("a", 2),
        ("a", 3),
        ("b", 20),
        ("a", 4),
        ("b", 30),
        ("a", 5),
        ("a", 6),
        ("a", 7),
    ]
    return (
        env.from_collection(events)
        .key_by(lambda event: event[0])
        .count_window(3)
        .reduce(lambda left, right: (left[0], left[1] + right[1]))
    )


class WindowAndContents(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield (
            key,
            context.window().id,
            context.window().max_timestamp(),
            [element[1] for element in elements],
        )


@program(123, compare="ordered_by_key:0", mode="streaming")
def count_window_contents(env: StreamExecutionEnvironment) -> DataStream:
    """What a count window holds, and its id: in the order of arrival, by key."""
    events = [("a", 1), ("b", 10), ("a", 2), ("a", 3), ("b", 20), ("a", 4), ("a", 5)]
    return (
        env.from_collection(events)
        .key_by(lambda event: event[0])
        .count_window(2)
        .process(WindowAndContents())
    )


class Contents(WindowFunction):
    def apply(self, key, window, inputs):
        yield key, window.id, [element[1] for element in inputs]


@program(124, compare="ordered_by_key:0", mode="streaming")
def count_window_slide(env: StreamExecutionEnvironment) -> DataStream:
    """Sliding count windows: four records, a new window each two."""
    events = [("a", number) for number in range(11)] + [("b", number) for number in range(5)]
    return (
        env.from_collection(events)
        .key_by(lambda event: event[0])
        .count_window(4, 2)
        .apply(Contents())
    )


@program(125, compare="ordered_by_key:0")
def count_window_slide_reduce(env: StreamExecutionEnvironment) -> DataStream:
    """Sliding count windows, reduced."""
    events = [("a", 2**number) for number in range(9)] + [("b", 1), ("b", 2), ("b", 4), ("b", 8)]
    return (
        env.from_collection(events)
        .key_by(lambda event: event[0])
        .count_window(3, 1)
        .reduce(lambda left, right: (left[0], left[1] + right[1]))
    )


class Hundredfold(WindowFunction):
    def apply(self, key, window, inputs):
        for element in inputs:
            yield key, element[1] * 100


@program(126, compare="ordered_by_key:0", parallelism=2)
def count_window_of_one(env: StreamExecutionEnvironment) -> DataStream:
    """Count windows of one record: each record is a result."""
    return (
        env.from_collection([("a", 1), ("b", 2), ("c", 3)])
        .key_by(lambda event: event[0])
        .count_window(1)
        .apply(Hundredfold())
    )


def pair_sum(left, right):
    return left[0], left[1] + right[1]


@program(127, compare="ordered_by_key:0", mode="streaming")
def count_assigners_by_name(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """The assigners of count windows, handed to window()."""
    events = [("a", 2**number) for number in range(8)]
    keyed = env.from_collection(events).key_by(lambda event: event[0])
    return {
        "tumbling": keyed.window(CountTumblingWindowAssigner.of(3)).reduce(pair_sum),
        "sliding": keyed.window(CountSlidingWindowAssigner.of(3, 2)).reduce(pair_sum),
    }


@program(128, compare="ordered_by_key:0", mode="streaming")
def count_window_slide_longer_than_size(env: StreamExecutionEnvironment) -> DataStream:
    """Count windows with gaps: two records are taken, one is left out."""
    return (
        env.from_collection([("a", number) for number in range(9)])
        .key_by(lambda event: event[0])
        .count_window(2, 3)
        .apply(Contents())
    )


class TotalsOfWindow(WindowFunction):
    def apply(self, key, window, inputs):
        yield key, window.id, list(inputs)


@program(129, compare="ordered_by_key:0")
def count_window_aggregate(env: StreamExecutionEnvironment) -> DataStream:
    """Count windows with an aggregate function and a window function after it."""
    events = [("a", 1), ("a", 2), ("b", 5), ("a", 3), ("b", 6), ("a", 4)]
    return (
        env.from_collection(events)
        .key_by(lambda event: event[0])
        .count_window(2)
        .aggregate(Sum(), TotalsOfWindow())
    )


@program(119, compare="ordered_by_key:0")
def global_windows_count_trigger(env: StreamExecutionEnvironment) -> DataStream:
    """Global windows with a count trigger: each second record fires, and nothing is purged."""
    events = [
        ("a", 1, 1),
        ("b", 10, 2),
        ("a", 2, 3),
        ("a", 3, 4),
        ("a", 4, 5),
        ("b", 20, 6),
        ("a", 5, 7),
    ]
    return (
        timed(env, events)
        .key_by(lambda event: event[0])
        .window(GlobalWindows.create())
        .trigger(CountTrigger.of(2))
        .reduce(add)
    )


@program(120, compare="multiset")
def global_windows_never_fire(env: StreamExecutionEnvironment) -> DataStream:
    """Global windows without a trigger of their own never fire, at the end of the input neither."""
    return (
        timed(env, [("a", 1, 1), ("a", 2, 2)])
        .key_by(lambda event: event[0])
        .window(GlobalWindows.create())
        .reduce(add)
    )


class TextOfWindow(WindowFunction):
    def apply(self, key, window, inputs):
        yield key, str(window), [element[1] for element in inputs]


@program(121, compare="ordered_by_key:0")
def global_windows_purged(env: StreamExecutionEnvironment) -> DataStream:
    """Global windows purged at each third record: the rest is never seen."""
    events = [("a", number, number) for number in range(7)] + [("b", 1, 8), ("b", 2, 9)]
    windowed = timed(env, events).key_by(lambda event: event[0]).window(GlobalWindows.create())
    return windowed.trigger(PurgingTrigger.of(CountTrigger.of(3))).apply(TextOfWindow())
