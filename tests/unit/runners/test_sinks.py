"""Sinks in a runner: who is asked to commit, what a failure says, what is closed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from headrace.connector import CommitBy, Committer, Sink, SinkWriter, WriterContext
from headrace.datastream import StreamExecutionEnvironment
from headrace.runners.sinks import SinkWriting
from headrace.runtime.block import Block
from headrace.runtime.program import SinkProgram
from headrace.testing import run_pipeline

EVENTS: list[str] = []


@pytest.fixture(autouse=True)
def no_events() -> None:
    EVENTS.clear()


class Client:
    def close(self) -> None:
        EVENTS.append("closed")


@dataclass
class Writer(SinkWriter):
    fails: str = ""
    values: list[Any] = field(default_factory=list)

    def write(self, values: Sequence[Any], timestamps: Sequence[int | None]) -> None:
        self._do("write")

    def prepare_commit(self) -> None:
        self._do("prepare")

    def abort(self) -> None:
        self._do("abort")

    def _do(self, what: str) -> None:
        EVENTS.append(what)
        if what in self.fails.split():
            raise ValueError(f"{what} failed")


@dataclass(frozen=True)
class TaskSink(Sink):
    fails: str = ""
    commits = CommitBy.TASK

    def writer(self, context: WriterContext) -> SinkWriter:
        context.shared("client", Client)
        EVENTS.append(f"{context.batch_id}: {context.partition} of {context.partitions}")
        if "open" in self.fails:
            raise ValueError("open failed")
        return Writer(self.fails)


class FailingCommitter(Committer):
    def commit(self, batch_id: int, committables: Sequence[Any]) -> None:
        raise ValueError("commit failed")


@dataclass(frozen=True)
class DriverSink(TaskSink):
    commits = CommitBy.DRIVER

    def committer(self, context: Any) -> Committer:
        return FailingCommitter()


def run(sink: Sink) -> None:
    def program(env: StreamExecutionEnvironment) -> Any:
        numbers = env.from_collection([1, 2])
        numbers.sink_to(sink).name("orders").uid("orders-out")
        return numbers

    run_pipeline(program, cuts=[1])


def test_a_sink_that_commits_by_task_has_no_committer_and_keeps_its_client() -> None:
    run(TaskSink())
    assert EVENTS == [
        "0: 0 of 1",
        "write",
        "prepare",
        "1: 0 of 1",
        "write",
        "prepare",
        "closed",
    ]


@pytest.mark.parametrize("moment", ["open", "write", "prepare"])
def test_what_a_writer_raises_names_the_sink(moment: str) -> None:
    with pytest.raises(ValueError, match=f"{moment} failed") as caught:
        run(TaskSink(moment))
    (note,) = caught.value.__notes__
    assert note.startswith("sink:     orders (uid=orders-out), built at ")
    assert note.splitlines()[0].endswith(", writing micro-batch 0, partition 0")
    assert EVENTS[-1] == "closed"
    assert ("abort" in EVENTS) == (moment != "open")


def test_what_a_committer_raises_names_the_sink() -> None:
    with pytest.raises(ValueError, match="commit failed") as caught:
        run(DriverSink())
    (note,) = caught.value.__notes__
    assert note.startswith("sink:     orders (uid=orders-out), built at ")
    assert note.endswith(", committing")


def test_an_abort_that_fails_does_not_hide_the_failure() -> None:
    sink = SinkProgram(0, "orders", None, TaskSink("write abort"))
    with (
        pytest.raises(ValueError, match="write failed") as caught,
        SinkWriting(sink, WriterContext("s", "job", 3, 1, "a")) as writing,
    ):
        writing.write(Block(None, [1], None, False, [], None, 0))
    assert caught.value.__notes__ == [
        "sink:     orders (uid=none), writing micro-batch 3, partition 1",
        "and abort() failed: ValueError: abort failed",
    ]
