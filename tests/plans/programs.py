"""Programs whose plans are kept, each adding its sinks to an environment.

The stream that a program gives back is the one whose ``explain()`` is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from headrace.common import Time, WatermarkStrategy
from headrace.common.output_tag import OutputTag
from headrace.datastream import (
    AsyncDataStream,
    DataStream,
    KeyedProcessFunction,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import ValueStateDescriptor
from headrace.runtime.user_function import UserFunction
from tests.operators.comap import CoMapSpec
from tests.operators.connecting import connected
from tests.operators.enrich import EnrichSpec

LATE = OutputTag("late")
BY_TIME = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v: v[1])


COMAP = CoMapSpec(
    UserFunction(lambda value, seen, times: value), UserFunction(lambda value, seen, times: value)
)


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
    together = connected(COMAP, left, left.map(lambda v: v).name("again")).name("together")
    apart = connected(COMAP, together, right).name("apart")
    timed, facts = (
        stream.assign_timestamps_and_watermarks(BY_TIME) for stream in (apart, clicks(env, "facts"))
    )
    spec = EnrichSpec(UserFunction(lambda value, fact, age_ms: value))
    stream = connected(spec, timed.key_by(lambda v: v[0]), facts.key_by(lambda v: v[1]))
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
    )
}
