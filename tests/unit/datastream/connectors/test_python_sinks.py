"""Sinks that hand records to Python code, to the driver, or to Spark."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.datastream.connectors.base import CommitterContext, Sink, WriterContext
from headrace.datastream.connectors.dataframe import DataFrameSink
from headrace.datastream.connectors.function import FunctionSink
from headrace.datastream.connectors.print import CollectSink, Delivery, PrintSink
from headrace.errors import JobError, PlanError

CONTEXT = WriterContext("sink", "job", 0, 2, "a")


def write(sink: Sink, *runs: list[Any]) -> Any:
    writer = sink.writer(CONTEXT)
    for values in runs:
        writer.write(values, [None] * len(values))
    return writer.prepare_commit()


def test_print_lines() -> None:
    assert write(PrintSink(), ["a", 1], [None]) == Delivery(2, ("a", "1", "None"))
    assert write(PrintSink("id"), ["a"]).values == ("id> a",)
    assert write(PrintSink("id", numbers_tasks=True), ["a"]).values == ("id:3> a",)
    assert write(PrintSink(numbers_tasks=True), ["a"]).values == ("3> a",)
    typed = PrintSink().with_type_info(Types.ROW([Types.INT(), Types.STRING()]))
    assert write(typed, [Row(1, None)]).values == ("+I[1, null]",)
    assert write(PrintSink()) is None


def test_collected_values() -> None:
    values = [{"a": 1}, None]
    assert pickle.loads(pickle.dumps(write(CollectSink(), values))) == Delivery(2, tuple(values))


@pytest.mark.parametrize("sink", [PrintSink(), CollectSink(), DataFrameSink("delta", path="x")])
def test_the_runner_commits_these(sink: Sink) -> None:
    with pytest.raises(JobError):
        sink.committer(CommitterContext("sink", "job"))
    assert pickle.loads(pickle.dumps(sink)) == sink


def test_function_gets_the_records_of_a_micro_batch() -> None:
    calls: list[list[Any]] = []
    sink = FunctionSink(calls.append)
    write(sink, [1, 2], [3])
    write(sink)
    writer = sink.writer(CONTEXT)
    writer.write([4], [None])
    writer.abort()
    writer.prepare_commit()
    assert calls == [[1, 2, 3]]
    sink.committer(CommitterContext("sink", "job")).commit(0, [])


class Target:
    """Records what is called."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def open(self, context: WriterContext) -> None:
        self.calls.append(("open", context.partition))

    def invoke(self, value: Any) -> None:
        self.calls.append(value)

    def flush(self) -> None:
        self.calls.append("flush")


def test_object_is_opened_once_and_flushed_per_micro_batch() -> None:
    target = Target()
    sink = FunctionSink(target)
    write(sink, [1, 2])
    write(sink, [3])
    assert target.calls == [("open", 2), 1, 2, "flush", 3, "flush"]
    copy = pickle.loads(pickle.dumps(FunctionSink(Target())))
    write(copy, ["x"])
    assert copy.target.calls == [("open", 2), "x", "flush"]


def test_a_copy_of_an_opened_sink_is_not_open() -> None:
    sink = FunctionSink(Target())
    write(sink, [1])
    copy = pickle.loads(pickle.dumps(sink))
    write(copy, [2])
    assert copy.target.calls.count(("open", 2)) == 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: FunctionSink("not callable"),
        lambda: DataFrameSink("parquet", path="a", table="b"),
        lambda: DataFrameSink("parquet", path="a", mode="upsert"),
    ],
)
def test_impossible_sinks_fail_when_built(make: Callable[[], Sink]) -> None:
    with pytest.raises(PlanError):
        make()
