"""The jobs of a worker process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.graph.stream_graph import StreamGraph
from headrace.metrics._merging import figures
from headrace.runners.launch import program_of
from headrace.runners.spark.failures import TaskFailure
from headrace.runners.spark.modules import dumps
from headrace.runners.spark.query import worker
from headrace.runners.spark.query.packets import MemoryContent, envelopes_in, payload_of
from headrace.runners.spark.query.worker import ProgramRef, WorkerJob, wire_rows, worker_job
from headrace.runners.spark.query.writing import sink_tasks
from headrace.runtime.block import Envelope, Kind
from headrace.runtime.program import JobProgram


@pytest.fixture(autouse=True)
def no_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_jobs", {})


def program() -> JobProgram:
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"parallelism.default": "2"})
    )
    env.from_collection([1]).print()
    return program_of(StreamGraph.of(env._take_sinks()), env._configuration, "job")


def ref(job: JobProgram, run_id: str) -> ProgramRef:
    return ProgramRef(run_id, dumps(job, []))


def test_a_job_is_kept_until_its_next_run() -> None:
    job = program()
    first = worker_job(ref(job, "first"))
    other = worker_job(ref(replace(job, scope="another"), "other"))
    assert worker_job(ref(job, "first")) is first
    second = worker_job(ref(job, "second"))
    assert second is not first
    assert list(worker._jobs.values()) == [other, second]


@pytest.mark.parametrize("partition", range(5))
def test_a_subtask_is_one_of_those_announced(
    partition: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "partition_id", lambda: partition)
    facts = WorkerJob(replace(program(), parallelism=2), {}).source_task_info()
    assert (facts.subtask(), facts.parallelism) == (partition % 2, 2)


def test_what_writers_share_is_closed_with_the_job() -> None:
    closed = []

    class Client:
        def close(self) -> None:
            closed.append(self)

    job = WorkerJob(program(), {})
    client = job.resources.get("client", Client)
    assert job.resources.get("client", Client) is client
    job.close()
    assert closed == [client]


def test_sinks_know_the_number_of_tasks() -> None:
    job = replace(program(), partitions=8)
    assert sink_tasks(job) == 3  # two that read, and one that announces splits
    assert sink_tasks(replace(job, needs_ticks=True)) == 4
    keyed = replace(job, stages=((),))
    assert sink_tasks(keyed) == 8


def test_what_an_ended_job_raises_is_reported_and_the_next_one_runs(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def close(self: WorkerJob) -> None:
        raise ValueError("theirs")

    monkeypatch.setattr(WorkerJob, "close", close)
    job = program()
    worker_job(ref(job, "first"))
    second = worker_job(ref(job, "second"))
    assert list(worker._jobs.values()) == [second]
    assert "theirs" in caplog.text and "of the job job" in caplog.text


def attempt(job: WorkerJob, records: int, *, fails: bool = False) -> Iterator[Envelope]:
    """What an attempt of a task does: it counts, and reports the counts at its end."""
    for _ in range(records):
        job.metrics.counter("n").inc()
    if fails:
        raise OSError("the first attempt")
    yield from job.reports(0, 0)


def counted(job: WorkerJob, records: int, *, fails: bool = False) -> dict[str, float]:
    """The figures among the rows that an attempt sends."""
    rows = list(wire_rows(job, attempt(job, records, fails=fails)))
    envelopes = [
        envelope for row in rows for envelope in envelopes_in(MemoryContent(row.payload), row.stage)
    ]
    (report,) = [e for e in envelopes if e.kind == Kind.METRICS]
    return dict(figures(payload_of(report)))


def test_counts_of_a_failed_attempt_are_not_reported_by_the_next_one() -> None:
    job = worker_job(ref(program(), "run"))
    assert counted(job, 3) == {"n": 3}
    with pytest.raises(TaskFailure, match="first attempt"):
        counted(job, 2, fails=True)
    assert counted(job, 4) == {"n": 4}


def test_an_attempt_that_spark_gave_up_leaves_nothing() -> None:
    job = worker_job(ref(program(), "run"))
    lost = counted(job, 4)  # reported, and lost with the attempt's records
    assert counted(job, 4) == lost == {"n": 4}
