"""Two streams in one function."""

from pyflink.common import Row, Types
from pyflink.datastream import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    DataStream,
    KeyedCoProcessFunction,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)

from .common import FIVE_SECONDS, Span, add, program, timed


class ToText(CoMapFunction):
    def map1(self, value):
        return f"number {value}" if value != 2 else None

    def map2(self, value):
        return f"text {value}"


@program(270, compare="multiset", parallelism=2)
def connect_map(env: StreamExecutionEnvironment) -> DataStream:
    """Two streams of different types in one map; None gives nothing."""
    return (
        env.from_collection([1, 2, 3])
        .connect(env.from_collection(["a", "b"]))
        .map(ToText(), output_type=Types.STRING())
    )


class CountAndSplit(CoFlatMapFunction):
    def flat_map1(self, value):
        for number in range(value):
            yield "left", number

    def flat_map2(self, value):
        yield from value.split()


@program(271, compare="multiset")
def connect_flat_map(env: StreamExecutionEnvironment) -> DataStream:
    """Two streams in one flat map: several results, or none."""
    left, right = env.from_collection([0, 1, 3]), env.from_collection(["a b", "", "c"])
    return left.connect(right).flat_map(CountAndSplit())


LEFT, RIGHT = OutputTag("left"), OutputTag("right", Types.STRING())


class StampAndRoute(CoProcessFunction):
    def process_element1(self, value, ctx):
        yield value[0], ctx.timestamp()
        yield LEFT, value[1]

    def process_element2(self, value, ctx):
        yield RIGHT, f"{value[0]} at {ctx.timestamp()}"


@program(272, compare="multiset")
def connect_process(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Two streams in one CoProcessFunction, with timestamps and a side output for each half."""
    one = timed(env, [("a", 1, 10), ("b", 2, 20)])
    two = timed(env, [("c", 3, 30)])
    main = one.connect(two).process(StampAndRoute())
    return {"main": main, "left": main.get_side_output(LEFT), "right": main.get_side_output(RIGHT)}


class LabelSides(CoMapFunction):
    def map1(self, value):
        return "left", value

    def map2(self, value):
        return "right", value


@program(273, compare="ordered_by_key:0", mode="streaming")
def connect_of_one_side(env: StreamExecutionEnvironment) -> DataStream:
    """Within one input of a connected pair records keep their order.

    Each record names its side, which is what the comparison goes by.
    """
    return (
        env.from_collection(list(range(8)))
        .connect(env.from_collection(list("abcdefgh")))
        .map(LabelSides())
    )


class GatherBothSides(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.STRING()))

    def process_element1(self, value, ctx):
        self.seen.add(f"left {value[1]}")
        ctx.timer_service().register_event_time_timer(1_000_000)

    def process_element2(self, value, ctx):
        self.seen.add(f"right {value[1]}")
        ctx.timer_service().register_event_time_timer(1_000_000)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp, sorted(self.seen.get())


@program(274, compare="ordered_by_key:0")
def connect_keyed_state_is_shared(env: StreamExecutionEnvironment) -> DataStream:
    """Keyed state is shared by both inputs.

    A timer reports at the end what a key has gathered, so that the order in which the inputs
    interleave does not matter.
    """
    left = timed(env, [("a", 1, 10), ("b", 2, 20), ("a", 3, 30)])
    right = timed(env, [("a", 4, 10), ("c", 5, 20)])
    return (
        left.key_by(lambda event: event[0])
        .connect(right.key_by(lambda event: event[0]))
        .process(GatherBothSides())
    )


class Sums(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element1(self, value, ctx):
        self.total.update((self.total.value() or 0) + value[1])
        ctx.timer_service().register_event_time_timer(1_000_000)

    def process_element2(self, value, ctx):
        self.total.update((self.total.value() or 0) + 100 * len(value[0]))
        ctx.timer_service().register_event_time_timer(1_000_000)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), self.total.value()


@program(275, compare="multiset")
def connect_key_by_of_the_pair(env: StreamExecutionEnvironment) -> DataStream:
    """key_by of the connected pair, with a selector for each side."""
    left = timed(env, [("a", 1, 10), ("b", 2, 20), ("a", 3, 30)])
    right = timed(env, [("xyz", "a", 10), ("z", "c", 20)])
    keyed = left.connect(right).key_by(
        lambda event: event[0], lambda event: event[1], Types.STRING()
    )
    return keyed.process(Sums())


class Number(CoMapFunction):
    def open(self, runtime_context: RuntimeContext):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def next_number(self):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        return count

    def map1(self, value):
        return value[0], self.next_number()

    def map2(self, value):
        return value[0], self.next_number()


@program(276, compare="multiset", mode="streaming")
def connect_keyed_map_with_state(env: StreamExecutionEnvironment) -> DataStream:
    """A CoMapFunction on keyed streams with state that both halves count in.

    How the halves interleave is not promised, so only the numbers are given: one to the count of
    records by key.
    """
    left = env.from_collection([("a", 1), ("b", 2), ("a", 3)])
    right = env.from_collection([("a", "x"), ("c", "y")])
    return left.connect(right).key_by(lambda event: event[0], lambda event: event[0]).map(Number())


class RunningBySide(CoFlatMapFunction):
    def open(self, runtime_context: RuntimeContext):
        self.left = runtime_context.get_state(ValueStateDescriptor("left", Types.LONG()))
        self.right = runtime_context.get_list_state(ListStateDescriptor("right", Types.STRING()))

    def flat_map1(self, value):
        total = (self.left.value() or 0) + value[1]
        self.left.update(total)
        yield f"left {value[0]}", total

    def flat_map2(self, value):
        self.right.add(value[1])
        yield f"right {value[0]}", list(self.right.get())


@program(277, compare="ordered_by_key:0", mode="streaming")
def connect_keyed_flat_map_with_state(env: StreamExecutionEnvironment) -> DataStream:
    """A CoFlatMapFunction on keyed streams, with state that each side keeps for itself.

    It goes by the order of that side, which is promised.
    """
    left = env.from_collection([("a", 1), ("b", 2), ("a", 3)])
    right = env.from_collection([("a", "x"), ("b", "y"), ("a", "z")])
    return (
        left.connect(right)
        .key_by(lambda event: event[0], lambda event: event[0])
        .flat_map(RunningBySide())
    )


class TimersOfBothSides(KeyedCoProcessFunction):
    def process_element1(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[2] + 1_000)

    def process_element2(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[2] + 2_000)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp, ctx.timestamp(), ctx.time_domain().name


@program(278, compare="ordered_by_key:0", mode="streaming")
def connect_timers_go_by_the_slower_input(env: StreamExecutionEnvironment) -> DataStream:
    """Event-time timers of two inputs fire by time, key by key, whichever input set them."""
    left = timed(env, [("a", 1, 100), ("b", 2, 200), ("a", 3, 300)])
    right = timed(env, [("a", 4, 50), ("b", 5, 1_000), ("a", 6, -900)])
    return (
        left.connect(right)
        .key_by(lambda event: event[0], lambda event: event[0])
        .process(TimersOfBothSides())
    )


class Join(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.left = runtime_context.get_list_state(ListStateDescriptor("left", Types.LONG()))
        self.right = runtime_context.get_list_state(ListStateDescriptor("right", Types.STRING()))

    def process_element1(self, value, ctx):
        self.left.add(value[1])
        for other in self.right.get():
            yield value[0], value[1], other

    def process_element2(self, value, ctx):
        self.right.add(value[1])
        for other in self.left.get():
            yield value[0], other, value[1]


@program(279, compare="multiset")
def connect_join_by_hand(env: StreamExecutionEnvironment) -> DataStream:
    """A join by hand: each side waits in state for the other, so their order does not matter."""
    left = env.from_collection([("a", 1), ("b", 2), ("a", 3), ("d", 4)])
    right = env.from_collection([("a", "x"), ("c", "y"), ("a", "z"), ("b", "w")])
    return (
        left.connect(right).key_by(lambda event: event[0], lambda event: event[0]).process(Join())
    )


class NegateSecond(CoMapFunction):
    def map1(self, value):
        return value

    def map2(self, value):
        return value[0], -value[1], value[2]


@program(280, compare="ordered_by_key:0")
def connect_then_window(env: StreamExecutionEnvironment) -> DataStream:
    """Connected streams and a window after them: the watermark is that of the slower input."""
    left = [("a", 1, 1_000), ("b", 2, 6_000), ("a", 3, 4_999)]
    right = [("a", 10, 2_000), ("b", 20, 7_000), ("c", 30, 14_000)]
    both = timed(env, left).connect(timed(env, right)).map(NegateSecond())
    return both.key_by(lambda event: event[0]).window(FIVE_SECONDS).process(Span())


class Compare(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.limit = runtime_context.get_state(ValueStateDescriptor("limit", Types.LONG()))
        self.totals = runtime_context.get_list_state(ListStateDescriptor("totals", Types.LONG()))

    def process_element1(self, value, ctx):
        self.totals.add(value[1])
        ctx.timer_service().register_event_time_timer(1_000_000)

    def process_element2(self, value, ctx):
        self.limit.update(value[1])

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), self.limit.value(), sorted(self.totals.get())


@program(281, compare="multiset", mode="streaming")
def connect_windows_to_a_stream(env: StreamExecutionEnvironment) -> DataStream:
    """The results of a window connected with another stream, keyed alike."""
    events = timed(env, [("a", 1, 1_000), ("b", 2, 6_000), ("a", 3, 4_999), ("a", 9, 7_000)])
    totals = events.key_by(lambda event: event[0]).window(FIVE_SECONDS).reduce(add)
    limits = timed(env, [("a", 7, 0), ("b", 8, 0)])
    return (
        totals.key_by(lambda event: event[0])
        .connect(limits.key_by(lambda event: event[0]))
        .process(Compare())
    )


class LabelInputs(CoMapFunction):
    def map1(self, value):
        return "one", value

    def map2(self, value):
        return "two", value


@program(282, compare="multiset", mode="streaming")
def connect_with_itself(env: StreamExecutionEnvironment) -> DataStream:
    """A stream connected with itself: each record comes by both inputs."""
    stream = env.from_collection([1, 2, 3])
    return stream.connect(stream).map(LabelInputs())


NOTES = OutputTag("notes", Types.STRING())


class Note(KeyedCoProcessFunction):
    def process_element1(self, value, ctx):
        yield NOTES, f"left {value[1]}"
        yield value[0], value[1]

    def process_element2(self, value, ctx):
        yield NOTES, f"right {value[1]}"
        ctx.timer_service().register_event_time_timer(5_000)

    def on_timer(self, timestamp, ctx):
        yield NOTES, f"timer of {ctx.get_current_key()} at {timestamp}"


@program(283, compare="multiset")
def connect_keyed_side_outputs(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Side outputs of a KeyedCoProcessFunction, from either half and from a timer."""
    left = timed(env, [("a", 1, 10), ("b", 2, 20)])
    right = timed(env, [("a", 3, 10), ("c", 4, 20)])
    main = (
        left.connect(right).key_by(lambda event: event[0], lambda event: event[0]).process(Note())
    )
    return {"main": main, "notes": main.get_side_output(NOTES)}


class Merge(CoMapFunction):
    def map1(self, value):
        return Row(value.name, value.size * 2)

    def map2(self, value):
        return Row(value.title, len(value.title))


@program(284, compare="multiset")
def connect_of_typed_rows(env: StreamExecutionEnvironment) -> DataStream:
    """Rows of declared types on both sides and in the result."""
    one = env.from_collection(
        [Row("a", 1), Row("b", 2)],
        type_info=Types.ROW_NAMED(["name", "size"], [Types.STRING(), Types.INT()]),
    )
    two = env.from_collection([Row("xyz")], type_info=Types.ROW_NAMED(["title"], [Types.STRING()]))
    result = Types.ROW_NAMED(["text", "number"], [Types.STRING(), Types.INT()])
    return one.connect(two).map(Merge(), output_type=result)


@program(285, compare="ordered")
def connect_empty_side(env: StreamExecutionEnvironment) -> DataStream:
    """One of two connected streams is empty: the other goes its way."""
    empty = env.from_collection([9]).filter(lambda value: False)
    return env.from_collection([1, 2, 3]).connect(empty).map(LabelSides())


class TableAndLargest(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.table = runtime_context.get_map_state(
            MapStateDescriptor("table", Types.STRING(), Types.LONG())
        )
        self.largest = runtime_context.get_reducing_state(
            ReducingStateDescriptor("largest", max, Types.LONG())
        )

    def process_element1(self, value, ctx):
        self.table.put(f"left {value[1]}", value[1])
        self.largest.add(value[1])
        ctx.timer_service().register_event_time_timer(99_000)

    def process_element2(self, value, ctx):
        self.table.put(f"right {value[1]}", value[1])
        self.largest.add(value[1])
        ctx.timer_service().register_event_time_timer(99_000)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), sorted(self.table.items()), self.largest.get()


@program(286, compare="ordered_by_key:0", mode="streaming")
def connect_keyed_reducing_and_map_state(env: StreamExecutionEnvironment) -> DataStream:
    """Map and reducing state shared by two inputs; what is reported is what any order gives."""
    left = timed(env, [("a", 1, 10), ("b", 2, 20), ("a", 3, 30)])
    right = timed(env, [("a", 9, 10), ("c", 5, 20)])
    return (
        left.connect(right)
        .key_by(lambda event: event[0], lambda event: event[0])
        .process(TableAndLargest())
    )


@program(263, compare="raises:TypeError", mode="streaming")
def error_co_map_of_wrong_class(env: StreamExecutionEnvironment) -> DataStream:
    """Connected streams take a CoMapFunction for map."""
    return env.from_collection([1]).connect(env.from_collection(["a"])).map(lambda value: value)


class FailOnSecond(CoMapFunction):
    def map1(self, value):
        return value

    def map2(self, value):
        raise ValueError(value)


@program(266, compare="raises:ValueError", mode="streaming")
def error_in_co_function(env: StreamExecutionEnvironment) -> DataStream:
    """An error in one half of a connected function fails the job."""
    return env.from_collection([1]).connect(env.from_collection(["a"])).map(FailOnSecond())
