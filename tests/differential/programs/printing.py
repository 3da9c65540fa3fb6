"""What print writes."""

from datetime import date, datetime
from decimal import Decimal

from pyflink.common import Row, Types
from pyflink.common.time import Time
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction, WindowFunction
from pyflink.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
)

from .common import FIVE_SECONDS, AsRow, program, timed


@program(70, compare="printed", mode="streaming")
def print_untyped(env: StreamExecutionEnvironment) -> None:
    """What print writes for records without a declared type."""
    values = [
        1,
        1.0,
        0.1,
        1e20,
        True,
        "text",
        "",
        (1, "a", None),
        (1,),
        [1, ["a", None]],
        {"k": 1},
        Row(1, "a"),
        Row(name="a", value=None),
        Decimal("1.50"),
        date(2024, 2, 29),
        datetime(2024, 2, 29, 12, 30),
    ]
    env.from_collection(values).map(lambda value: value).print()


@program(71, compare="printed_multiset", mode="streaming")
def print_typed_basic(env: StreamExecutionEnvironment) -> None:
    """What print writes for records of basic types."""
    cases = [
        (Types.STRING(), ["text", ""]),
        (Types.INT(), [1, -5]),
        (Types.LONG(), [2**40]),
        (Types.BOOLEAN(), [True, False]),
        (Types.FLOAT(), [1.0, 0.1]),
        (Types.DOUBLE(), [1.0, 0.1, 1e20, 1e-5, float("nan"), float("inf")]),
        (Types.BIG_DEC(), [Decimal("1.50"), Decimal("1E+3")]),
    ]
    for index, (kind, values) in enumerate(cases):
        stream = env.from_collection(values, type_info=kind)
        stream.map(lambda value: value, output_type=kind).print(f"case {index}")


NAMED = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])


@program(72, compare="printed_multiset", mode="streaming")
def print_typed_composite(env: StreamExecutionEnvironment) -> None:
    """What print writes for Rows, tuples, lists and maps of declared types."""
    pair = Types.TUPLE([Types.INT(), Types.STRING()])
    cases = {
        "row": (Types.ROW([Types.INT(), Types.STRING()]), [Row(1, "a"), Row(2, None)]),
        "named row": (NAMED, [Row(1, "a"), Row(2, None)]),
        "tuple": (pair, [(1, "a")]),
        "nested tuple": (Types.TUPLE([Types.BOOLEAN(), pair]), [(True, (1, "a"))]),
        "list": (Types.LIST(Types.INT()), [[1, 2], []]),
        "map": (Types.MAP(Types.STRING(), Types.INT()), [{"k": 1}, {}]),
        "tuple of list": (Types.TUPLE([Types.LIST(Types.STRING())]), [(["a", "b"],)]),
    }
    for name, (kind, values) in cases.items():
        env.from_collection(list(range(len(values)))).map(
            lambda index, values=values: values[index], output_type=kind
        ).print(name)


@program(89, compare="printed_multiset", mode="streaming")
def print_nested_row(env: StreamExecutionEnvironment) -> None:
    """What print writes for a Row inside a Row."""
    nested_type = Types.ROW([Types.DOUBLE(), NAMED])
    rows = env.from_collection([1]).map(lambda _: Row(0.5, Row(1, "a")), output_type=nested_type)
    rows.print("row")


@program(73, compare="printed_multiset", parallelism=2, mode="streaming")
def print_identifier(env: StreamExecutionEnvironment) -> None:
    """The sink identifier, alone and with several subtasks."""
    numbers = env.from_collection([1, 2, 3], type_info=Types.INT())
    numbers.print("several")
    numbers.print()
    alone = numbers.map(lambda value: value, output_type=Types.INT()).set_parallelism(1)
    alone.print("one").set_parallelism(1)


EVENTS = [("a", 1, 1_000), ("a", 2, 6_000), ("a", 4, 2_000)]


class Show(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, len(list(elements))
        yield f"{key} in {context.window()}"


@program(200, compare="printed", mode="streaming")
def print_window_results(env: StreamExecutionEnvironment) -> None:
    """What print writes for results of windows: untyped tuples, and texts with the window."""
    timed(env, EVENTS).key_by(lambda event: event[0]).window(FIVE_SECONDS).process(Show()).print()


class TheWindow(WindowFunction):
    def apply(self, key, window, inputs):
        yield window


@program(201, compare="printed_multiset", mode="streaming")
def print_windows_themselves(env: StreamExecutionEnvironment) -> None:
    """What print writes for a window itself: of time, of count, the global one."""
    keyed = timed(env, [("a", 1, 1_000), ("a", 2, 2_000)]).key_by(lambda event: event[0])
    sliding = keyed.window(SlidingEventTimeWindows.of(Time.seconds(4), Time.seconds(2)))
    sessions = keyed.window(EventTimeSessionWindows.with_gap(Time.seconds(4)))
    global_windows = keyed.window(GlobalWindows.create()).trigger(CountTrigger.of(2))
    sliding.apply(TheWindow()).print("time")
    sessions.apply(TheWindow()).print("session")
    keyed.count_window(2).apply(TheWindow()).print("count")
    global_windows.apply(TheWindow()).print("global")


@program(202, compare="printed", mode="streaming")
def print_typed_window_results(env: StreamExecutionEnvironment) -> None:
    """What print writes for results of windows with a declared type: tuples and rows."""
    row = Types.ROW_NAMED(["name", "start", "count"], [Types.STRING(), Types.LONG(), Types.INT()])
    windowed = timed(env, EVENTS).key_by(lambda event: event[0]).window(FIVE_SECONDS)
    windowed.apply(AsRow(), output_type=row).print("rows")
