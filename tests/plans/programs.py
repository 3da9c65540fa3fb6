"""Programs whose plans are kept, each adding its sinks to an environment.

The stream that a program gives back is the one whose ``explain()`` is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from headrace.common import Time, Types, WatermarkStrategy
from headrace.common._output_tag import OutputTag
from headrace.common.changelog_mode import ChangelogMode
from headrace.datastream import (
    AsyncDataStream,
    CoMapFunction,
    DataStream,
    JoinFields,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.connectors.function import FunctionSink
from headrace.datastream.state import MapStateDescriptor, ValueStateDescriptor
from headrace.datastream.window import TumblingEventTimeWindows
from tests.operators.sums import ChangedSumsSpec, Changes
from tests.pipelines.columns import adding

LATE = OutputTag("late")
BY_TIME = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v: v[1])


RATES = MapStateDescriptor("rates")


class Same(CoMapFunction):
    """Gives out every record as it is."""

    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return value


class Paired(KeyedCoProcessFunction):
    """Waits for the time of the first stream's records."""

    def process_element1(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def process_element2(self, value: Any, ctx: Any) -> None:
        return None


class Rated(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    """Multiplies with a rate."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value[1] * ctx.get_broadcast_state(RATES).get("rate")

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RATES).put("rate", value[1])


class Visits(KeyedProcessFunction):
    """Has state and timers of both kinds."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.timer_service().register_event_time_timer(value[1] + 10)
        ctx.timer_service().register_processing_time_timer(0)
        self.count.update((self.count.value() or 0) + 1)
        yield value

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp


class Splitting(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield (LATE, value) if value[1] < 0 else value


def clicks(env: StreamExecutionEnvironment, name: str = "clicks") -> DataStream:
    return env.from_collection([("a", 1)]).name(name)


NUMBERS = Types.ROW_NAMED(["user", "amount"], [Types.LONG(), Types.LONG()])


def numbers(env: StreamExecutionEnvironment, timed: bool = False) -> DataStream:
    made = DataGeneratorSource.of_columns(lambda n: {"user": n % 7, "amount": n}, 10)
    by_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner("amount")
    return env.from_source(made, by_time if timed else WatermarkStrategy.no_watermarks(), "numbers")


def chain(env: StreamExecutionEnvironment) -> DataStream:
    """Without an exchange everything is one task with the source."""
    stream = clicks(env).map(lambda v: v).filter(lambda v: True).flat_map(lambda v: [v])
    stream.name("split").uid("split-1").print()
    return stream


def chain_cut(env: StreamExecutionEnvironment) -> DataStream:
    """Chains end where the program says so."""
    stream = (
        clicks(env)
        .map(lambda v: v)
        .name("first")
        .map(lambda v: v)
        .name("alone")
        .disable_chaining()
        .map(lambda v: v)
        .name("third")
        .map(lambda v: v)
        .name("starts anew")
        .start_new_chain()
        .map(lambda v: v)
        .name("behind it")
    )
    stream.print()
    return stream


def union(env: StreamExecutionEnvironment) -> DataStream:
    """Two sources meet in one keyed operator."""
    left, right = clicks(env, "left"), clicks(env, "right").map(lambda v: v)
    stream = left.union(right).key_by(lambda v: v[0]).reduce(lambda one, other: other)
    stream.print()
    return stream


def two_stages(env: StreamExecutionEnvironment) -> DataStream:
    """State and timers, then another key; the first stage's output is read twice."""
    timed = clicks(env).assign_timestamps_and_watermarks(BY_TIME)
    visits = timed.key_by(lambda v: v[0]).process(Visits()).name("visits").uid("visits-1")
    visits.print()
    stream = visits.map(lambda v: (v[1] % 10, 1)).key_by(lambda v: v[0]).sum(1)
    stream.print()
    return stream


def side_output(env: StreamExecutionEnvironment) -> DataStream:
    """One output to a keyed operator, the other to a sink, and one read by nobody."""
    split = clicks(env).process(Splitting()).name("split")
    split.get_side_output(LATE).map(lambda v: v).name("mend").print()
    split.get_side_output(OutputTag("unread"))
    stream = split.key_by(lambda v: v[0]).max(1)
    stream.print()
    return stream


def rebalance(env: StreamExecutionEnvironment) -> DataStream:
    """Subtasks of their own, where parallelism changes and where the program asks for it."""
    spread = clicks(env).rebalance().map(lambda v: v).name("spread").set_parallelism(4)
    narrow = spread.map(lambda v: v).name("narrow").set_parallelism(1)
    narrow = narrow.filter(lambda v: True).name("as narrow")
    stream = narrow.partition_custom(lambda key, count: 0, 0).map(lambda v: v).name("parted")
    stream.print()
    return stream


def two_inputs(env: StreamExecutionEnvironment) -> DataStream:
    """Inputs that lie in one task, in two, and with two keys of their own."""
    left, right = clicks(env, "left"), clicks(env, "right")
    again = left.map(lambda v: v).name("again")
    together = left.connect(again).map(Same()).name("together")
    apart = together.connect(right).map(Same()).name("apart")
    timed, facts = (
        stream.assign_timestamps_and_watermarks(BY_TIME) for stream in (apart, clicks(env, "facts"))
    )
    stream = timed.connect(facts).key_by(lambda v: v[0], lambda v: v[1]).process(Paired())
    stream.print()
    return stream


def broadcast_state(env: StreamExecutionEnvironment) -> DataStream:
    """A broadcast input beside one with keys."""
    keyed = clicks(env, "clicks").key_by(lambda v: v[0])
    stream = keyed.connect(clicks(env, "rates").broadcast(RATES)).process(Rated())
    stream.print()
    return stream


async def echo(value: Any) -> Any:
    return value


def lookups(env: StreamExecutionEnvironment) -> DataStream:
    """In the source's chain, and after a keyed operator in a task that is not a key group's."""
    wait = AsyncDataStream.ordered_wait
    found = wait(clicks(env), echo, Time.seconds(1)).name("in the chain")
    largest = found.key_by(lambda v: v[0]).max(1).map(lambda v: v)
    stream = wait(largest, echo, Time.seconds(1)).name("by itself").map(lambda v: v)
    stream.print()
    return stream


def changelog(env: StreamExecutionEnvironment) -> DataStream:
    """Kinds of rows that operators declare, and a function that declares none."""
    no_time = WatermarkStrategy.no_watermarks()
    read = env.from_source(Changes((), mode=ChangelogMode.all()), no_time, "changes")
    stream = adding(read.filter(lambda v: True).key_by(lambda v: v[0]), ChangedSumsSpec())
    stream.print()
    stream.map(lambda v: v).print()
    return stream


def columns(env: StreamExecutionEnvironment) -> DataStream:
    """Columns through two keyed stages, a union and a function of batches, to a sink of records."""
    sums = numbers(env).key_by("user").sum("amount")
    both = sums.union(numbers(env).rebalance())
    stream = both.key_by("amount").max("user").map_batches(lambda batch: batch)
    stream.print()
    return stream


def columns_join(env: StreamExecutionEnvironment) -> DataStream:
    """A windowed join of columns, also with a plain function, and late columns beside windows."""
    first, second = numbers(env, timed=True), numbers(env, timed=True)
    windows = TumblingEventTimeWindows.of(Time.seconds(1))
    join = first.join(second).where("user").equal_to("user").window(windows)
    stream = join.apply(JoinFields(["user"], ["amount"]))
    stream.key_by("user").sum("amount").print()
    join.apply(lambda one, two: one).print()
    sums = first.key_by("user").window(windows).side_output_late_data(LATE).sum("amount")
    sums.get_side_output(LATE).map_batches(lambda batch: batch, input_type=NUMBERS).print()
    return stream


def columns_end(env: StreamExecutionEnvironment) -> DataStream:
    """Columns become records, for a reason each time."""
    read = numbers(env)
    read.map(lambda v: v).name("by record").print()
    read.key_by(lambda v: v["user"]).sum("amount").name("key of a function").print()
    read.partition_custom(lambda key, n: key % n, lambda v: v["user"]).map_batches(
        lambda batch: batch, input_type=NUMBERS
    ).print()
    stream = read.assign_timestamps_and_watermarks(BY_TIME).key_by("user").sum("amount")
    stream.sink_to(FunctionSink(lambda values: None))
    return stream


PROGRAMS: dict[str, Callable[[StreamExecutionEnvironment], DataStream]] = {
    program.__name__: program
    for program in (
        chain,
        chain_cut,
        union,
        two_stages,
        side_output,
        rebalance,
        two_inputs,
        lookups,
        broadcast_state,
        changelog,
        columns,
        columns_join,
        columns_end,
    )
}
