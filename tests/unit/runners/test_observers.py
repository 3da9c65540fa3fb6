"""Observers see the whole run of a job, and cannot fail it."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration
from headrace.common.job_status import JobStatus
from headrace.connector import Pending
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream._build.execution import _build_graph
from headrace.runners.launch import start
from headrace.runners.observers import (
    BatchProgress,
    JobInfo,
    Observers,
    SavepointTaken,
    SplitStatus,
)
from headrace.runners.splits import splits_of
from headrace.runtime.coordination.coordinator import MAX_SHOWN_SPLITS
from headrace.runtime.coordination.offset import Offset, SourceProgress, WorkLimits


class Kept:
    def __init__(self) -> None:
        self.job: JobInfo | None = None
        self.batches: list[BatchProgress] = []
        self.failures: list[tuple[BaseException, int | None]] = []
        self.savepoints: list[SavepointTaken] = []
        self.handle: Future[Any] = Future()
        self.ends: list[JobStatus] = []

    def on_start(self, job: JobInfo) -> None:
        self.job = job

    def on_batch(self, batch: BatchProgress) -> None:
        self.batches.append(batch)

    def on_failure(self, error: BaseException, restarts_in_ms: int | None) -> None:
        self.failures.append((error, restarts_in_ms))

    def on_savepoint(self, savepoint: SavepointTaken) -> None:
        self.savepoints.append(savepoint)

    def on_end(self, status: JobStatus) -> None:
        self.ends.append(status)


class Broken(Kept):
    def on_batch(self, batch: BatchProgress) -> None:
        super().on_batch(batch)
        raise ValueError("full")


def run(function: Any, *observers: Kept, **more: str) -> Any:
    settings = {"execution.target": "local", "headrace.source.max-records-per-batch": "10", **more}
    configuration = Configuration.from_dict(settings)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    stream = env.from_collection([*range(30)]).name("numbers").map(function).name("mapped")
    stream.key_by(lambda n: n % 3).reduce(lambda a, b: a + b).name("sums").print()
    graph = _build_graph(env._take_sinks(), configuration)
    job = start(graph, configuration, "observed", observers=observers)
    for observer in observers:
        observer.handle.set_result(job)
    return job.wait()


class Saving(Kept):
    """Requests a savepoint after the second micro-batch."""

    def on_batch(self, batch: BatchProgress) -> None:
        super().on_batch(batch)
        if len(self.batches) == 2:
            self.handle.result(30).savepoint(None)


def test_an_observer_sees_each_savepoint(tmp_path: Path) -> None:
    saving = Saving()
    run(lambda n: n, saving, **{"execution.checkpointing.savepoint-dir": str(tmp_path)})
    (taken,) = saving.savepoints
    sizes = [path.stat().st_size for path in Path(taken.folder).rglob("*.parquet")]
    assert (taken.batch_id, taken.size_bytes) == (saving.batches[1].batch_id, sum(sizes))
    assert taken.duration_ms > 0 and taken.started_ms >= saving.batches[1].started_ms


def test_an_observer_sees_the_graph_and_every_micro_batch() -> None:
    kept = Kept()
    run(lambda n: n, kept)
    assert kept.job is not None
    assert (kept.job.name, kept.job.runner, kept.job.cores) == ("observed", "local", 1)
    graph = kept.job.graph
    assert [each.name for each in graph.operators][:2] == ["numbers", "mapped"]
    kinds = {each.name: each.kind for each in graph.operators}
    assert (kinds["numbers"], kinds["sums"]) == ("source", "operator")
    assert "sink" in kinds.values()
    chained = {each.chained for each in graph.edges}
    assert chained == {True, False}
    assert all(graph.operator(each.source) for each in graph.edges)
    assert {each.vertex for each in graph.operators} == {each.id for each in graph.vertices}
    assert [batch.batch_id for batch in kept.batches] == [0, 1, 2]
    read = [batch.counts.source("numbers").records for batch in kept.batches]
    assert read == [10, 20, 30]
    (source,) = kept.batches[0].splits.values()
    assert [each.pending_records for each in source.values()] == [20]
    assert kept.ends == [JobStatus.FINISHED] and not kept.failures


def test_the_phases_of_a_micro_batch_add_up() -> None:
    kept = Kept()
    run(lambda n: n, kept)
    for batch in kept.batches:
        phases = batch.phases
        parts = [phases.plan_ms, phases.read_ms, phases.process_ms, phases.commit_ms]
        assert sum(part for part in parts if part is not None) == pytest.approx(batch.duration_ms)


def test_a_failure_is_seen_before_the_end() -> None:
    kept = Kept()
    with pytest.raises(ZeroDivisionError):
        run(lambda n: n // 0, kept)
    ((error, restarts_in_ms),) = kept.failures
    assert isinstance(error, ZeroDivisionError) and restarts_in_ms is None
    assert kept.ends == [JobStatus.FAILED]


def test_a_broken_observer_is_reported_once_and_the_job_goes_on(capsys: Any) -> None:
    broken, kept = Broken(), Kept()
    run(lambda n: n, broken, kept)
    assert len(broken.batches) == 1 and len(kept.batches) == 3
    assert not broken.ends and kept.ends
    told = [line for line in capsys.readouterr().err.splitlines() if "Broken" in line]
    assert len(told) == 1 and "full" in told[0]


def test_no_observers_are_false() -> None:
    assert not Observers() and Observers([Kept()])


def test_sources_of_very_many_splits_do_not_tell_of_each() -> None:
    limits = WorkLimits(1, 1)
    few = SourceProgress({"a": 1, "b": 2}, idle=frozenset("b"))
    many = SourceProgress({str(n): n for n in range(MAX_SHOWN_SPLITS + 1)})
    offset = Offset(1, 0, 0, limits, {"few": few, "many": many})
    found = splits_of(offset, {"few": {"a": Pending(7)}})
    assert found == {"few": {"a": SplitStatus(1, 7), "b": SplitStatus(2, idle=True)}}
