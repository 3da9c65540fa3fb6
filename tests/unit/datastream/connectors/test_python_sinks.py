"""Sinks that hand records to Python code, to the driver, or to Spark."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.connector import CommitterContext, Sink, WriterContext
from headrace.datastream.connectors.dataframe import DataFrameSink
from headrace.datastream.connectors.function import FunctionSink
from headrace.datastream.connectors.print import CollectSink, PrintSink
from headrace.errors import JobError, PlanError

CONTEXT = WriterContext("sink", "job", 0, 2, "a")


def write(sink: Sink, *runs: list[Any]) -> Any:
    writer = sink.writer(CONTEXT)
    for values in runs:
        writer.write(values, [None] * len(values))
    return writer.prepare_commit()


def test_printed_records() -> None:
    assert PrintSink.shown("a", None) == "a"
    assert PrintSink.shown(None, None) == "None"
    assert PrintSink.shown(Row(1, None), Types.ROW([Types.INT(), Types.STRING()])) == "+I[1,None]"
    pair = Types.TUPLE([Types.INT(), Types.STRING()])
    assert PrintSink.shown((1, None), pair) == "(1,null)"


@pytest.mark.parametrize("sink", [PrintSink(), CollectSink(), DataFrameSink("delta", path="x")])
def test_the_runner_commits_these(sink: Sink) -> None:
    with pytest.raises(JobError):
        sink.committer(CommitterContext("sink", "job"))
    with pytest.raises(JobError):
        sink.writer(CONTEXT)
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
