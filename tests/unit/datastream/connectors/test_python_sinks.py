"""Sinks that hand records to Python code, to the driver, or to Spark."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.connector import CommitterContext, Sink, WorkerResources, WriterContext
from headrace.datastream.connectors._print import CollectSink, PrintSink
from headrace.datastream.connectors.dataframe import DataFrameSink
from headrace.datastream.connectors.function import FunctionSink
from headrace.errors import JobError, PlanError

CONTEXT = WriterContext("sink", "job", 0, 2, "a")


def of_run(worker: WorkerResources) -> WriterContext:
    return replace(CONTEXT, worker=worker)


def write(sink: Sink, *runs: list[Any], context: WriterContext = CONTEXT) -> Any:
    writer = sink.writer(context)
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

    def close(self) -> None:
        self.calls.append("close")


def test_object_is_opened_once_in_a_process_and_closed_with_the_run() -> None:
    target = Target()
    sink = FunctionSink(target)
    run = WorkerResources()
    write(sink, [1, 2], context=of_run(run))
    write(sink, [3], context=of_run(run))
    assert target.calls == [("open", 2), 1, 2, "flush", 3, "flush"]
    run.close()
    write(sink, [4], context=of_run(WorkerResources()))
    assert target.calls[6:] == ["close", ("open", 2), 4, "flush"]


def test_an_object_that_failed_to_open_is_opened_anew() -> None:
    class Reluctant(Target):
        def open(self, context: WriterContext) -> None:
            super().open(context)
            if len(self.calls) == 1:
                raise OSError("not yet")

    sink, run = FunctionSink(Reluctant()), WorkerResources()
    with pytest.raises(OSError, match="not yet"):
        write(sink, [1], context=of_run(run))
    write(sink, [1], context=of_run(run))
    assert sink.target.calls == [("open", 2), ("open", 2), 1, "flush"]


def test_an_object_without_a_life_cycle_is_only_called() -> None:
    class Called:
        values: ClassVar[list[Any]] = []

        def invoke(self, value: Any) -> None:
            self.values.append(value)

    run = WorkerResources()
    write(FunctionSink(Called()), [1], context=of_run(run))
    run.close()
    assert Called.values == [1]


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
