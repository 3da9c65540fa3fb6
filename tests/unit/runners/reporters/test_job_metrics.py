"""The metrics of jobs of the local runner, and of reports as Spark sends them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration, Duration, WatermarkStrategy
from headrace.common.job_status import JobStatus
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.connector import SplitMetrics
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream._build.execution import _build_graph
from headrace.datastream.functions import MapFunction, RuntimeContext
from headrace.datastream.window import Time, TumblingEventTimeWindows
from headrace.metrics._merging import MergeRule, MetricId, MetricValue
from headrace.runners.launch import start
from headrace.runners.observers import BatchProgress, JobInfo, Slots, SplitStatus
from headrace.runners.reporters.job_metrics import JobMetrics
from headrace.runners.reporters.names import prometheus_name
from headrace.runners.reporters.samples import Sample, Scope, Summary

MAX = 2**63 - 1

FLINKS = {
    Scope.JOB_MANAGER: """
        numRegisteredTaskManagers numPendingTaskManagers numRunningJobs
        taskSlotsAvailable taskSlotsTotal
    """,
    Scope.JOB: """
        <jobStatus>State <jobStatus>Time <jobStatus>TimeTotal
        uptime downtime numRestarts numRescales
        lastCheckpointDuration lastCheckpointSize lastCompletedCheckpointId
        lastCheckpointCompletedTimestamp lastCheckpointFullSize lastCheckpointExternalPath
        lastCheckpointRestoreTimestamp numberOfInProgressCheckpoints numberOfCompletedCheckpoints
        numberOfFailedCheckpoints totalNumberOfCheckpoints
    """,
}
"""Flink's metrics of job managers and jobs: the tables Cluster, Availability and Checkpointing of
its page "Metrics" (apache/flink, docs/content/docs/ops/metrics.md at 028379e924d9)."""
OF_STATUS = {"runningTime", "restartingTime"}
OLDER = {"fullRestarts"}
"""Of older versions of Flink."""
PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "metrics.md"


class Watch(JobMetrics):
    """Keeps what was reported after each micro-batch."""

    def __init__(self) -> None:
        super().__init__("box")
        self.jobs: list[JobInfo] = []
        self.batches: list[BatchProgress] = []
        self.found: list[list[Sample]] = []

    def on_start(self, job: JobInfo) -> None:
        super().on_start(job)
        self.jobs.append(job)

    def on_batch(self, batch: BatchProgress) -> None:
        super().on_batch(batch)
        self.batches.append(batch)
        self.found.append(self.samples(batch.now_ms))

    def on_failure(  # type: ignore[override]
        self, error: BaseException, restarts_in_ms: int | None
    ) -> None:
        super().on_failure(error, restarts_in_ms, 0)


class Counting(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        group = runtime_context.get_metrics_group()
        self.seen = group.counter("seen")
        self.even = group.add_group("parity", "even").meter("events", 10)
        self.sizes = group.add_group("sizes").distribution("size")
        group.gauge("level", lambda: 4)

    def map(self, value: int) -> int:
        self.seen.inc()
        self.sizes.update(value)
        if value % 2 == 0:
            self.even.mark_event()
        return value


class Second(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int | None) -> int:
        return int(value) * 1000


def watch(build: Callable[[StreamExecutionEnvironment], Any], per_batch: int = 10) -> Watch:
    """Run a job of the local runner."""
    found = Watch()
    settings = {
        "execution.target": "local",
        "headrace.source.max-records-per-batch": str(per_batch),
    }
    configuration = Configuration.from_dict(settings)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    build(env)
    graph = _build_graph(env._take_sinks(), configuration)
    start(graph, configuration, "my job", observers=[found]).wait()
    return found


def windows(env: StreamExecutionEnvironment) -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(0))
    stream = env.from_collection([*range(30), 1]).name("numbers").map(Counting()).name("counting")
    timed = stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(Second()))
    summed = (
        timed.key_by(lambda n: n % 3)
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .reduce(lambda a, b: a + b)
        .name("sums")
    )
    summed.print().name("shown")


def values(samples: list[Sample], name: str, **labels: str) -> list[Any]:
    """The values of a metric, by its name in Prometheus without the prefix."""
    return [
        sample.value
        for sample in samples
        if prometheus_name(sample).removeprefix("flink_taskmanager_job_task_") == name
        and labels.items() <= sample.labels.items()
    ]


def value(samples: list[Sample], name: str, **labels: str) -> Any:
    (found,) = values(samples, name, **labels)
    return found


@pytest.fixture(scope="module")
def watched() -> Watch:
    return watch(windows)


def test_names_and_labels_are_flinks(watched: Watch) -> None:
    names = {prometheus_name(sample) for sample in watched.found[0]}
    task, operator = "flink_taskmanager_job_task", "flink_taskmanager_job_task_operator"
    job = "flink_jobmanager_job"
    for scope in (task, operator):
        for name in ("numRecordsIn", "numRecordsOut", "currentInputWatermark"):
            assert f"{scope}_{name}" in names
        assert f"{scope}_numRecordsInPerSecond" in names
    for name in ("busyTimeMsPerSecond", "idleTimeMsPerSecond", "backPressuredTimeMsPerSecond"):
        assert f"{task}_{name}" in names
    assert {f"{operator}_currentOutputWatermark", f"{operator}_numLateRecordsDropped"} <= names
    assert {f"{job}_uptime", f"{job}_numRestarts", "flink_jobmanager_numRunningJobs"} <= names
    labels = {frozenset(each.labels) for each in watched.found[0] if each.scope is Scope.OPERATOR}
    own = {"job_id", "job_name", "host", "tm_id", "task_id", "task_name", "subtask_index"}
    own |= {"task_attempt_id", "task_attempt_num", "operator_id", "operator_name"}
    assert labels == {frozenset(own), frozenset({*own, "parity"})}


def test_records_are_counted_by_task_and_operator(watched: Watch) -> None:
    last = watched.found[-1]
    assert value(last, "operator_numRecordsIn", operator_name="counting") == 31
    assert value(last, "operator_numRecordsOut", operator_name="Source: numbers") == 31
    (task,) = {each.labels["task_name"] for each in last if each.name == "pendingRecords"}
    assert task.startswith("Source: numbers -> counting -> ")
    assert value(last, "numRecordsIn", task_name=task) == 31
    assert value(last, "numRecordsOut", task_name=task) == 31
    windows = value(last, "operator_numRecordsOut", operator_name="sums")
    assert windows == value(last, "numRecordsIn", task_name="Sink: shown") > 0
    assert value(last, "operator_numRecordsSend", operator_name="Sink: shown") == windows
    assert value(watched.found[0], "operator_numRecordsIn", operator_name="counting") == 10


def test_late_records_are_counted(watched: Watch) -> None:
    assert value(watched.found[-1], "operator_numLateRecordsDropped", operator_name="sums") == 1


def test_watermarks(watched: Watch) -> None:
    first, last = watched.found[0], watched.found[-1]
    reached = value(first, "operator_currentInputWatermark", operator_name="sums")
    assert 0 < reached < 10_000
    assert value(first, "operator_currentOutputWatermark", operator_name="sums") == reached
    (name,) = {each.labels["task_name"] for each in first if each.name == "stateEntries"}
    assert value(first, "currentInputWatermark", task_name=name) == reached
    assert value(last, "operator_currentInputWatermark", operator_name="sums") == MAX
    made = [
        each.labels["operator_name"]
        for each in first
        if each.name == "currentOutputWatermark" and each.labels["task_name"] != name
    ]
    # Not known before the operator that makes them; that of the source is what leaves its task.
    assert made == ["Source: numbers", "Timestamps/Watermarks"]


def test_what_functions_register_has_its_groups(watched: Watch) -> None:
    last, by = watched.found[-1], {"operator_name": "counting"}
    assert value(last, "operator_seen", **by) == 31
    assert value(last, "operator_level", **by) == 4
    assert value(last, "operator_sizes_size", **by) == Summary(31, sum(range(30)) + 1, 0, 29)
    assert value(last, "operator_parity_events", parity="even", **by) > 0
    (events,) = [each for each in last if each.name == "events"]
    assert events.count == 15 and events.is_user


def test_time_adds_up_to_a_second(watched: Watch) -> None:
    for samples in watched.found:
        for task in {each.labels["task_id"] for each in samples if each.scope is Scope.TASK}:
            parts = [
                each
                for name in ("busy", "idle", "backPressured")
                for each in values(samples, f"{name}TimeMsPerSecond", task_id=task)
            ]
            assert not parts or sum(parts) == pytest.approx(1000, abs=2)


def test_what_is_not_measured_is_not_there(watched: Watch) -> None:
    names = {each.name for each in watched.found[-1]}
    assert not names & {"numBytesIn", "numBytesOut", "stateBytes", "numberOfCompletedCheckpoints"}


def test_each_name_is_on_the_page(watched: Watch) -> None:
    metrics = JobMetrics("box")
    metrics.on_start(replace(watched.jobs[0], checkpoint="/c"))
    metrics.on_batch(replace(watched.batches[0], find_checkpoint_bytes=lambda: 5))
    own = {each.name for each in metrics.samples(0) if not each.is_user}
    page = PAGE.read_text("utf-8")
    missing = [name for name in own if f"`{name.removesuffix('PerSecond')}" not in page]
    assert "lastCheckpointSize" in own and not [each for each in missing if f"`{each}`" not in page]


def test_metrics_of_jobs_have_names_of_flink_and_the_page_has_the_others(watched: Watch) -> None:
    metrics = JobMetrics("box")
    metrics.on_start(replace(watched.jobs[0], checkpoint="/c"))
    metrics.on_batch(replace(watched.batches[0], find_checkpoint_bytes=lambda: 5))
    page = PAGE.read_text("utf-8")
    missing = page[page.index("## Flink's metrics that are missing") :]
    for scope, text in FLINKS.items():
        flinks = {*text.split()}
        own = {each.name for each in metrics.samples(0) if each.scope is scope}
        assert own <= {*flinks, *OF_STATUS, *OLDER}
        # The size of all state is known if there are pages of state.
        left = {name for name in flinks - own if f"`{name}`" not in missing}
        assert left == ({"lastCheckpointFullSize"} if scope is Scope.JOB else set())
        assert not [name for name in own if f"`{name}`" in missing and name not in OF_STATUS]


def test_executors_are_task_managers_and_their_cores_are_slots(watched: Watch) -> None:
    metrics, seen = JobMetrics("box"), list[Slots | None]([None])
    metrics.on_start(replace(watched.jobs[0], cores=8, find_slots=lambda: seen[-1]))

    def found() -> dict[str, Any]:
        return {s.name: s.value for s in metrics.samples(0) if s.scope is Scope.JOB_MANAGER}

    assert found() == {"numRunningJobs": 1, "taskSlotsTotal": 8}
    seen.append(Slots(3, 12))
    assert found() == {
        "numRunningJobs": 1,
        "taskSlotsTotal": 12,
        "numRegisteredTaskManagers": 3,
    }


def test_a_micro_batch_in_progress_is_a_checkpoint_in_progress(watched: Watch) -> None:
    metrics, is_open = JobMetrics("box"), [True]
    job = replace(watched.jobs[0], checkpoint="/c", has_open_batch=lambda: is_open[-1])

    def found() -> tuple[int, ...]:
        values = {s.name: s.value for s in metrics.samples(0)}
        kinds = ("InProgress", "Completed", "Failed")
        counts = (values[f"numberOf{kind}Checkpoints"] for kind in kinds)
        return (values["totalNumberOfCheckpoints"], *counts)

    metrics.on_start(job)
    assert found() == (1, 1, 0, 0)  # the first one may take long
    metrics.on_batch(watched.batches[0])
    assert found() == (2, 1, 1, 0)
    is_open.append(False)
    assert found() == (1, 0, 1, 0)
    is_open.append(True)  # the failed one, until it runs again
    metrics.on_failure(ValueError(), 5000, 4000)
    assert found() == (2, 0, 1, 1)


def test_a_failed_job_and_its_restart() -> None:
    watched = watch(windows)
    metrics = JobMetrics("box")
    job, batch = watched.jobs[0], watched.batches[0]
    metrics.on_start(replace(job, started_ms=1000, checkpoint="/c"))
    metrics.on_batch(replace(batch, started_ms=1500, now_ms=2000, duration_ms=500))

    def of_job(now_ms: int) -> dict[str, Any]:
        return {s.name: s.value for s in metrics.samples(now_ms) if s.scope is Scope.JOB}

    found = of_job(3000)
    assert (found["uptime"], found["numRestarts"], found["downtime"]) == (2000, 0, 0)
    assert found["numberOfCompletedCheckpoints"] == 1 and found["lastCheckpointDuration"] == 500
    metrics.on_failure(ValueError(), 5000, 4000)
    found = of_job(6000)
    assert (found["uptime"], found["numRestarts"], found["downtime"]) == (0, 1, 2000)
    assert found["numberOfFailedCheckpoints"] == 1
    metrics.on_batch(replace(batch, batch_id=1, started_ms=9000, now_ms=9500))
    found = of_job(10_000)
    assert (found["uptime"], found["numRestarts"], found["downtime"]) == (1000, 1, 0)
    attempts = {s.labels.get("task_attempt_num") for s in metrics.samples(10_000)}
    assert attempts == {None, "1"}
    metrics.on_end(JobStatus.FAILED)
    assert of_job(11_000)["uptime"] == -1
    (running,) = [s.value for s in metrics.samples(11_000) if s.name == "numRunningJobs"]
    assert running == 0


def test_key_groups_belong_to_the_subtask_of_their_partition() -> None:
    """As on Spark: counts come from partitions, state and watermarks from key groups."""
    watched = watch(windows)
    job, batch = watched.jobs[0], watched.batches[0]
    sums = next(each for each in job.graph.operators if each.name == "sums")
    vertex = job.graph.vertex(sums.vertex)
    program = replace(job.program, partitions=4)
    graph = replace(
        job.graph,
        vertices=tuple(
            replace(each, parallelism=4) if each.id == vertex.id else each
            for each in job.graph.vertices
        ),
        operators=tuple(
            replace(each, parallelism=4) if each.vertex == vertex.id else each
            for each in job.graph.operators
        ),
    )

    def entry(metric: str, subtask: int) -> MetricId:
        return MetricId(sums.id, sums.name, metric, subtask)

    totals = {
        entry("numRecordsIn", 1): MetricValue(MergeRule.SUM, 5),
        entry("numRecordsIn", 3): MetricValue(MergeRule.SUM, 7),
        entry("stateEntries", 1): MetricValue(MergeRule.TOTAL, 10),
        entry("stateEntries", 5): MetricValue(MergeRule.TOTAL, 20),
        entry("stateEntries", 7): MetricValue(MergeRule.TOTAL, 40),
        entry("currentInputWatermark", 1): MetricValue(MergeRule.LOWEST, 900),
        entry("currentInputWatermark", 5): MetricValue(MergeRule.LOWEST, 800),
    }
    metrics = JobMetrics("box")
    metrics.on_start(replace(job, program=program, graph=graph))
    metrics.on_batch(replace(batch, totals=totals, metrics=totals))
    found = metrics.samples(batch.now_ms)

    def by_subtask(name: str) -> dict[str, Any]:
        return {
            each.labels["subtask_index"]: each.value
            for each in found
            if each.name == name and each.labels.get("operator_name") == "sums"
        }

    assert by_subtask("numRecordsIn") == {"1": 5, "3": 7}
    assert by_subtask("stateEntries") == {"1": 30, "3": 40}
    assert by_subtask("currentInputWatermark") == {"1": 800}


def test_idle_time_grows_while_the_job_runs_and_does_not_work(watched: Watch) -> None:
    metrics = JobMetrics("box")
    job, batch = watched.jobs[0], watched.batches[0]
    vertex = job.graph.vertices[0].id

    def add(started_ms: int, busy_ms: int) -> None:
        busy = MetricId(vertex, "numbers", "accumulateBusyTimeMs")
        found = {busy: MetricValue(MergeRule.SUM, busy_ms)}
        timed = replace(batch, started_ms=started_ms, now_ms=started_ms + 500, duration_ms=500)
        metrics.on_batch(replace(timed, totals=found, metrics=found))

    def idle_ms(now_ms: int) -> Any:
        (found,) = values(metrics.samples(now_ms), "accumulateIdleTimeMs", task_id=vertex)
        return found

    metrics.on_start(replace(job, started_ms=1000))
    add(started_ms=1500, busy_ms=300)
    assert idle_ms(2000) == idle_ms(2100) == 700  # the next micro-batch may be running
    assert idle_ms(8000) == 6700
    metrics.on_failure(ValueError(), 5000, 9000)
    assert idle_ms(20_000) == 7700
    add(started_ms=30_000, busy_ms=800)
    assert idle_ms(30_500) == 7700


def test_a_source_may_have_metrics_of_its_splits() -> None:
    watched = watch(windows)
    job, batch = watched.jobs[0], watched.batches[0]

    class Source:
        def split_metrics(self, splits: Any) -> list[SplitMetrics]:
            return [
                SplitMetrics((("Log", None), ("split", name)), {"at": position, "left": unread})
                for name, (position, unread) in splits.items()
            ]

    sources = tuple(replace(each, source=Source()) for each in job.program.sources)
    metrics = JobMetrics("box")
    metrics.on_start(replace(job, program=replace(job.program, sources=sources)))
    splits = {sources[0].id: {"a": SplitStatus(3, 9), "b": SplitStatus(4, 0)}}
    metrics.on_batch(replace(batch, find_splits=lambda: splits))
    found = metrics.samples(batch.now_ms)
    assert value(found, "operator_Log_split_at", split="a") == 3
    assert value(found, "operator_Log_split_left", split="a") == 9
    assert value(found, "operator_Log_split_at", split="b") == 4
