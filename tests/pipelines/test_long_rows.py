"""Rows of operators of any length: Python's limits on nesting and calls are no limits of a job."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import cloudpickle
import pytest

from headrace.common import Configuration
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import (
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from headrace.graph.stream_graph import StreamGraph
from headrace.metrics.metricbase import MetricGroup
from headrace.planner.plan import PlanOptions, plan
from headrace.runtime.block import records_of
from headrace.runtime.chain.chain import Chain
from headrace.runtime.context import TaskInfo
from headrace.runtime.program import JobProgram


def local() -> StreamExecutionEnvironment:
    settings = Configuration()
    settings.set_string("execution.target", "local")
    return StreamExecutionEnvironment.get_execution_environment(settings)


def collected(stream: DataStream) -> list[Any]:
    with stream.execute_and_collect() as results:
        return list(results)


class Passing(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value


class Timed(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield timestamp


def mapped(stream: DataStream) -> DataStream:
    return stream.map(lambda value: value + 1)


def filtered(stream: DataStream) -> DataStream:
    return stream.filter(lambda value: value % 1009 != 3)


def flattened(stream: DataStream) -> DataStream:
    return stream.flat_map(lambda value: [value])


def stamped(stream: DataStream) -> DataStream:
    return stream.assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value: 1)
    )


def processed(stream: DataStream) -> DataStream:
    return stream.process(Passing())


def parted(stream: DataStream) -> DataStream:
    return stream.map(lambda value: value).union(stream.filter(lambda value: False))


Add = Callable[[DataStream], DataStream]
LONG: dict[str, tuple[tuple[Add, ...], int]] = {
    "maps": ((mapped,), 1000),
    "filters": ((filtered,), 200),
    "flat maps": ((flattened,), 100),
    "process functions": ((processed,), 300),
    "time stamps": ((stamped, filtered), 100),
    "ever parting and meeting": ((parted,), 100),
    "a mixture": ((mapped, filtered, flattened, filtered, mapped, processed, stamped), 60),
}


def built(name: str, stream: DataStream) -> DataStream:
    adders, times = LONG[name]
    for _ in range(times):
        for add in adders:
            stream = add(stream)
    return stream


def expected(name: str, numbers: list[int]) -> list[int]:
    adders, times = LONG[name]
    for add in adders * times:
        if add is mapped:
            numbers = [number + 1 for number in numbers]
        elif add is filtered:
            numbers = [number for number in numbers if number % 1009 != 3]
    return numbers


@pytest.mark.parametrize("name", LONG)
def test_a_long_row_gives_what_its_operators_say(name: str) -> None:
    numbers = [*range(50)]
    assert collected(built(name, local().from_collection(numbers))) == expected(name, numbers)


@pytest.mark.parametrize("name", LONG)
def test_a_long_row_goes_on_after_a_key_exchange(name: str) -> None:
    fed = local().from_collection([1, 2, 3]).key_by(lambda value: value % 2)
    reduced = fed.reduce(lambda first, second: second)
    assert sorted(collected(built(name, reduced))) == expected(name, [1, 2, 3])


@pytest.mark.parametrize("name", LONG)
def test_a_long_row_is_explained_and_drawn(name: str) -> None:
    env = local()
    stream = built(name, env.from_collection([1]))
    stream.print()
    adders, times = LONG[name]
    assert stream.explain().count("(chained)") >= len(adders) * times
    assert len(json.loads(env.get_execution_plan())["nodes"]) >= len(adders) * times


@pytest.mark.parametrize("name", LONG)
def test_a_long_row_travels_to_a_worker(name: str) -> None:
    env = local()
    built(name, env.from_collection([1])).print()
    program: JobProgram = plan(StreamGraph.of(env._list_sinks()), PlanOptions("long", 1))
    sent: JobProgram = pickle.loads(cloudpickle.dumps(program.for_workers()))
    chain = Chain(sent.sources[0].chain, sent, TaskInfo(), MetricGroup(), False)
    chain.begin(sender=0, now_ms=0)
    chain.push_all([*range(20)], None)
    chain.tick()
    chain.push_watermark(99)
    (block,) = [envelope.payload for envelope in chain.drain()]
    assert records_of(block) == expected(name, [*range(20)])


@pytest.mark.parametrize("name", LONG)
def test_a_watermark_passes_a_long_row(name: str) -> None:
    stream = stamped(built(name, local().from_collection([5])))
    assert len(collected(stream.key_by(lambda value: 0).process(Timed()))) == 1


def test_event_time_is_looked_for_along_a_long_row() -> None:
    stream = local().from_collection([5])
    stream = built("maps", stamped(stream))
    assert collected(stream.key_by(lambda value: 0).process(Timed())) == [1]


def test_an_error_deep_in_a_row_names_its_operator_and_record() -> None:
    stream = local().from_collection([4])
    for number in range(60):
        stream = stream.flat_map(lambda value: [value + 1]).name(f"step {number}")
    stream = stream.map(lambda value: 1 // (value - 64)).name("the culprit")
    with pytest.raises(ZeroDivisionError) as raised:
        collected(stream)
    (note,) = raised.value.__notes__
    assert "operator: the culprit" in note
    assert "record:   64" in note


def test_side_outputs_along_a_long_row() -> None:
    tag = OutputTag("every")

    class Both(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            yield tag, value
            yield value + 1

    env = local()
    stream, sides = env.from_collection([0]), []
    for _ in range(120):
        stream = stream.process(Both())
        sides.append(stream.get_side_output(tag))
    assert sorted(collected(stream.union(*sides))) == [*range(121)]
