"""From an environment to a run, on the local runner."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Any

import cloudpickle
import pytest

import headrace
from headrace.common.configuration import Configuration
from headrace.common.job_status import JobStatus
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.connector import ExecutedBy
from headrace.datastream import DataStream, MapFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.function import FunctionSink
from headrace.datastream.state import ValueStateDescriptor
from headrace.errors import DuplicateUidError, PlanError
from headrace.graph.transformation import SourceTransformation


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    configuration = Configuration().set_string("execution.target", "local")
    return StreamExecutionEnvironment.get_execution_environment(configuration)


def collected(stream: DataStream) -> list[Any]:
    return list(stream.execute_and_collect())


def test_a_job_is_nothing_without_a_sink(env: StreamExecutionEnvironment) -> None:
    for call in (env.execute, env.execute_async, env.get_execution_plan):
        with pytest.raises(PlanError, match="no sink"):
            call()


def test_sinks_are_those_of_one_execution(
    env: StreamExecutionEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = env.from_sequence(1, 2)
    numbers.print("first")
    assert env.execute("job").get_net_runtime() >= 0
    numbers.map(lambda v: v * 10).print("second")
    client = env.execute_async()
    client.get_job_execution_result().result()
    assert client.get_job_status().result() is JobStatus.FINISHED
    lines = capsys.readouterr().out.splitlines()
    assert [line.replace(":1>", ">") for line in lines] == [
        "first> 1",
        "first> 2",
        "second> 10",
        "second> 20",
    ]
    numbers.print("third")
    env.close()
    with pytest.raises(PlanError, match="no sink"):
        env.execute()


def test_a_program_that_fails_its_check_starts_anew(env: StreamExecutionEnvironment) -> None:
    env.from_sequence(1, 2).uid("u").map(str).uid("u").print()
    with pytest.raises(DuplicateUidError):
        env.execute()
    assert env._list_sinks() == ()


def test_operators_without_a_sink_run_as_in_flink(env: StreamExecutionEnvironment) -> None:
    """Of a branch beside a sink, at the end of a program, and beside a stream that is collected."""
    ran: list[str] = []

    def seen(name: str) -> Callable[[int], int]:
        return lambda value: ran.append(f"{name}{value}") or value

    def take() -> list[str]:
        found = sorted(ran)
        ran.clear()
        return found

    numbers = env.from_sequence(1, 2)
    first = numbers.map(seen("a"))
    first.map(seen("b"), Types.LONG()).key_by(lambda v: v).map(seen("c"))
    first.map(seen("d")).sink_to(FunctionSink(len))
    env.execute()
    assert take() == ["a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2"]
    numbers.map(seen("e"))
    env.execute()
    assert take() == ["e1", "e2"]
    first.map(seen("f"))
    assert list(numbers.map(seen("g")).execute_and_collect()) == [1, 2]
    assert take() == ["a1", "a2", "f1", "f2", "g1", "g2"]
    env.from_sequence(1, 2)  # a source alone is no job
    with pytest.raises(PlanError, match="no sink"):
        env.execute()


def test_collecting(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_sequence(1, 5)
    with numbers.execute_and_collect("job") as results:  # type: ignore[union-attr]
        assert next(results) == 1
    assert numbers.execute_and_collect(limit=2) == [1, 2]
    assert numbers.execute_and_collect(limit=50) == [1, 2, 3, 4, 5]
    with pytest.raises(PlanError, match="a limit"):
        numbers.execute_and_collect(limit=0)


def test_declared_types_shape_records(env: StreamExecutionEnvironment) -> None:
    rows = env.from_collection(
        [("a", 1)], Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()])
    )
    assert collected(rows.map(lambda row: (row.k, row["v"]))) == [("a", 1)]
    assert collected(rows.project(1)) == [(1,)]


def test_rolling_aggregations(env: StreamExecutionEnvironment) -> None:
    pairs = env.from_collection([("a", 2), ("b", 5), ("a", 1), ("a", 1)])
    keyed = pairs.key_by(0)
    assert collected(keyed.sum(1)) == [("a", 2), ("b", 5), ("a", 3), ("a", 4)]
    assert collected(keyed.min(1)) == [("a", 2), ("b", 5), ("a", 1), ("a", 1)]
    assert collected(keyed.max_by(1)) == [("a", 2), ("b", 5), ("a", 2), ("a", 2)]


def test_state_in_a_map_function(env: StreamExecutionEnvironment) -> None:
    class Count(MapFunction):
        def open(self, runtime_context: Any) -> None:
            self.count = runtime_context.get_state(ValueStateDescriptor("count"))

        def map(self, value: Any) -> Any:
            self.count.update((self.count.value() or 0) + 1)
            return value, self.count.value()

    counted = env.from_collection(list("abaa")).key_by(lambda v: v).map(Count())
    assert sorted(collected(counted)) == [("a", 1), ("a", 2), ("a", 3), ("b", 1)]


def test_plans_name_the_operators(env: StreamExecutionEnvironment) -> None:
    stream = env.from_sequence(1, 2).name("numbers").key_by(lambda v: v).sum().name("total")
    assert "numbers" in stream.explain() and "total" in stream.explain()
    stream.print()
    nodes = json.loads(env.get_execution_plan())["nodes"]
    assert len(nodes) == 3 and len(env._list_sinks()) == 1


class Frame:
    """What from_dataframe asks of a Spark DataFrame."""

    def __init__(self, streaming: bool) -> None:
        self.isStreaming = streaming


@pytest.mark.parametrize("streaming", [True, False])
def test_a_dataframe_is_a_source(env: StreamExecutionEnvironment, streaming: bool) -> None:
    frame = Frame(streaming)
    source = headrace.from_dataframe(frame)
    assert source.bounded is not streaming and source.executed_by is ExecutedBy.SPARK
    assert source.dataframe is frame
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    stream = env.from_source(source, strategy, "rows")
    node = env._transformations[0]
    assert isinstance(node, SourceTransformation) and node.source is source
    assert stream.get_name() == "rows"
    copy = pickle.loads(cloudpickle.dumps(source))
    assert copy.dataframe is None and copy.bounded is source.bounded


def test_only_dataframes_are_dataframes() -> None:
    with pytest.raises(PlanError, match="takes a Spark DataFrame, not"):
        headrace.from_dataframe([1, 2])
