"""What the contract of connectors itself does: shared clients, and who commits."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from headrace.connector import (
    CommitBy,
    CommitterContext,
    Sink,
    SinkWriter,
    WorkerResources,
    WriterContext,
)
from headrace.errors import PlanError


@dataclass
class Client:
    name: str
    log: list[str]
    fails: bool = False

    def close(self) -> None:
        self.log.append(self.name)
        if self.fails:
            raise ValueError(self.name)


def context(worker: WorkerResources, sink_id: str = "s", batch: int = 0) -> WriterContext:
    return WriterContext(sink_id, "job", batch, 0, "a", 2, worker)


def test_a_client_outlives_its_writer() -> None:
    log: list[str] = []
    worker = WorkerResources()
    first = context(worker).shared("client", lambda: Client("one", log))
    assert context(worker, batch=1).shared("client", lambda: Client("two", log)) is first
    assert context(worker, "other").shared("client", lambda: Client("three", log)) is not first
    assert log == []
    worker.close()
    assert log == ["three", "one"]
    worker.close()
    assert log == ["three", "one"]


def test_a_broken_client_is_made_anew() -> None:
    log: list[str] = []
    worker = WorkerResources()
    context(worker).shared("client", lambda: Client("one", log))
    context(worker).discard("client")
    context(worker).discard("client")
    assert log == ["one"]
    assert context(worker).shared("client", lambda: Client("two", log)).name == "two"


def test_all_are_closed_whichever_fails() -> None:
    log: list[str] = []
    worker = WorkerResources()
    for name in ("one", "two", "three"):
        worker.get(name, lambda name=name: Client(name, log, fails=name == "two"))
    worker.get("no close", lambda: 5)
    with pytest.raises(ValueError, match="two"):
        worker.close()
    assert log == ["three", "two", "one"]


@dataclass(frozen=True)
class ByTask(Sink):
    commits = CommitBy.TASK

    def writer(self, context: WriterContext) -> SinkWriter:
        raise NotImplementedError


def test_a_sink_does_not_know_its_last_micro_batch_unless_it_says_so() -> None:
    assert ByTask().last_batch(CommitterContext("s", "job")) is None


def test_a_sink_without_a_committer_says_so() -> None:
    assert ByTask().commits is CommitBy.TASK
    with pytest.raises(PlanError, match="the sink ByTask has no committer"):
        ByTask().committer(CommitterContext("s", "job"))
