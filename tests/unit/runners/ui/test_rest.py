"""Answers have the fields of Flink's REST API.

``flink_rest.json`` has the fields of what Flink 2.3.0 answered for a windowed job.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headrace.common.job_status import JobStatus
from headrace.datastream import MapFunction, RuntimeContext
from headrace.errors import StorageError
from headrace.metrics._merging import MergeRule, MetricId, MetricValue
from headrace.metrics._operator_counts import BUSY_MS, PENDING_RECORDS
from headrace.runners.observers import (
    BatchProgress,
    JobInfo,
    JobObserver,
    SaveFailed,
    SavepointTaken,
    Slots,
)
from headrace.runners.ui import rest
from headrace.runners.ui.record import JobRecord
from headrace.runners.ui.vertex_ids import hex_id
from tests.unit.runners.ui import watched
from tests.unit.runners.ui.watched import BEGAN_MS, watch

FLINK: dict[str, Any] = json.loads((Path(__file__).parent / "flink_rest.json").read_text())


@pytest.fixture(scope="module")
def record() -> JobRecord:
    return watch()


def window_vertex(record: JobRecord) -> str:
    return next(v.id for v in record.view().graph.vertices if v.name.startswith("sums"))


ANSWERS: dict[str, Callable[[JobRecord], Any]] = {
    "/overview": lambda record: rest.overview([record]),
    "/config": lambda record: rest.config(),
    "/jobs": lambda record: rest.jobs([record]),
    "/jobs/overview": lambda record: rest.jobs_overview([record]),
    "/jobs/:jobid": rest.job_details,
    "/jobs/:jobid/status": rest.status,
    "/jobs/:jobid/plan": rest.plan,
    "/jobs/:jobid/config": rest.job_config,
    "/jobs/:jobid/accumulators": rest.accumulators,
    "/jobs/:jobid/checkpoints": rest.checkpoints,
    "/jobs/:jobid/checkpoints/config": rest.checkpoint_config,
    "/jobs/:jobid/metrics?get=numRestarts": lambda r: rest.job_metrics(r, ["numRestarts"]),
    "/jobs/:jobid/vertices/:vertexid": lambda r: rest.vertex_details(r, window_vertex(r)),
    "/jobs/:jobid/vertices/:vertexid/watermarks": lambda r: rest.watermarks(r, window_vertex(r)),
    "/jobs/:jobid/vertices/:vertexid/backpressure": lambda r: rest.backpressure(
        r, window_vertex(r)
    ),
    "/jobs/:jobid/vertices/:vertexid/subtasks/metrics?get=numRecordsIn": lambda r: (
        rest.subtask_metrics(r, window_vertex(r), ["numRecordsIn"])
    ),
}


def differences(flink: Any, ours: Any, path: str = "") -> Iterator[str]:
    """Yield where our answer has other fields or types than Flink's."""
    if flink == "statistics":
        flink = dict.fromkeys(("min", "max", "avg", "sum", "median", "p25", "p75", "p95"), "int")
    if isinstance(flink, dict):
        if not isinstance(ours, dict):
            yield f"{path} is {ours!r}"
        elif flink:  # otherwise its fields are names
            if flink.keys() != ours.keys():
                yield f"{path}: {sorted(flink.keys() ^ ours.keys())}"
            for key in flink.keys() & ours.keys():
                yield from differences(flink[key], ours[key], f"{path}/{key}")
    elif isinstance(flink, list):
        if not isinstance(ours, list):
            yield f"{path} is {ours!r}"
        elif flink:
            if not ours:
                yield f"{path} is empty"
            for each in ours:
                if "inputs" in flink[0] or "inputs" not in each:  # a source has none
                    wanted = {k: v for k, v in flink[0].items() if k in each or k != "inputs"}
                    yield from differences(wanted, each, f"{path}[]")
    else:
        kinds = {"int": int, "float": int | float, "str": str, "bool": bool, "NoneType": object}
        if not isinstance(ours, kinds[flink]):
            yield f"{path} is {ours!r}, and in Flink {flink}"


@pytest.mark.parametrize("path", ANSWERS)
def test_an_answer_has_the_fields_of_flink(path: str, record: JobRecord) -> None:
    answer = json.loads(json.dumps(ANSWERS[path](record)))
    assert [*differences(FLINK[path], answer)] == []


def test_an_exception_has_the_fields_of_flink() -> None:
    record = watch(function=lambda n: 1 // (50 - n))
    path = "/jobs/:jobid/exceptions"
    assert [*differences(FLINK[path], rest.exceptions(record, False))] == []


def test_every_recorded_answer_is_compared() -> None:
    assert {*FLINK} == {*ANSWERS, "/jobs/:jobid/exceptions"}


def test_figures_are_those_of_the_job(record: JobRecord) -> None:
    vertex = window_vertex(record)
    wanted = ["numRecordsIn", "sums.numRecordsIn", "currentInputWatermark", "none"]
    found = {each["id"]: each for each in rest.subtask_metrics(record, vertex, wanted)}
    assert found["numRecordsIn"]["sum"] == 100
    assert found["sums.numRecordsIn"]["max"] == 100
    assert found["currentInputWatermark"]["min"] == float(2**63 - 1)
    assert "none" not in found
    assert rest.watermarks(record, vertex)[0] == {
        "id": "0.currentInputWatermark",
        "value": str(2**63 - 1),
    }
    details = rest.vertex_details(record, vertex)
    assert details["aggregated"]["metrics"]["read-records"]["sum"] == 100
    names = {each["id"] for each in rest.vertex_metrics(record, vertex, None)}
    assert "0.numRecordsIn" in names
    assert rest.vertex_metrics(record, vertex, ["0.numRecordsIn"])[0]["value"] == "100"


class Last(JobObserver):
    """Keeps the job and its last micro-batch."""

    def on_start(self, job: JobInfo) -> None:
        self.job = job

    def on_batch(self, batch: BatchProgress) -> None:
        self.batch = batch


def test_the_size_of_a_checkpoint_is_what_a_micro_batch_has_added() -> None:
    last = Last()
    record = watch(last)
    record.on_batch(replace(last.batch, batch_id=10, find_checkpoint_bytes=lambda: 17))
    found = rest.job_metrics(record, ["lastCheckpointSize"])
    assert found == [{"id": "lastCheckpointSize", "value": "17"}]


def test_what_tasks_have_counted_is_in_the_subtask_of_flink() -> None:
    last = Last()
    record = watch(last)
    # On Spark the number of a task, of which sources may have more than subtasks.
    moved = {key._replace(subtask=7): value for key, value in last.batch.totals.items()}
    record.on_batch(replace(last.batch, batch_id=10, totals=moved))
    for vertex in record.view().graph.vertices:
        vertices = rest.job_details(record)["vertices"]
        (whole,) = (each for each in vertices if each["id"] == hex_id(vertex.id))
        details = rest.vertex_details(record, vertex.id)["aggregated"]["metrics"]
        for name in ("read-records", "write-records", "accumulated-busy-time"):
            assert details[name]["sum"] == int(whole["metrics"][name])


def test_micro_batches_are_checkpoints(record: JobRecord) -> None:
    answer = rest.checkpoints(record)
    assert answer["counts"]["completed"] == 10
    assert [each["id"] for each in answer["history"]] == [*reversed(range(10))]
    assert answer["latest"]["completed"]["id"] == 9
    names = {each["id"] for each in rest.job_metrics(record, None)}
    assert {"numRestarts", "lastCheckpointDuration", "numberOfCompletedCheckpoints"} <= names


def test_failed_micro_batches_and_the_one_in_progress_are_counted() -> None:
    record = watch()
    assert record.job is not None
    record.job = replace(record.job, has_open_batch=lambda: True)
    assert rest.checkpoints(record)["counts"]["in_progress"] == 0  # the job has ended
    for _ in range(60):  # more than are kept
        record.on_failure(OSError(), 10)
    counts = rest.checkpoints(record)["counts"]
    assert (counts["completed"], counts["failed"], counts["total"]) == (10, 60, 70)
    record.status = JobStatus.RUNNING
    counts = rest.checkpoints(record)["counts"]
    assert (counts["in_progress"], counts["total"]) == (1, 71)
    wanted = ["totalNumberOfCheckpoints", "numberOfFailedCheckpoints"]
    assert [each["value"] for each in rest.job_metrics(record, wanted)] == ["71", "60"]


def test_executors_are_task_managers() -> None:
    record = watch()
    assert record.job is not None
    record.status = JobStatus.RUNNING
    found = rest.overview([record])
    assert (found["taskmanagers"], found["slots-total"]) == (1, 1)
    record.job = replace(record.job, cores=8, find_slots=lambda: Slots(3, 12))
    found = rest.overview([record])
    assert (found["taskmanagers"], found["slots-total"]) == (3, 12)


@pytest.mark.parametrize(
    ("busy_ms", "unread", "level", "ratios"),
    [
        (700, 5, "low", (0.3, 0.0, 0.7)),
        (300, 5, "high", (0.7, 0.0, 0.3)),
        (950, 5, "ok", (0.05, 0.0, 0.95)),
        (300, 0, "ok", (0.0, 0.7, 0.3)),
    ],
)
def test_a_source_with_unread_records_waits_for_the_rest_of_a_micro_batch(
    busy_ms: int, unread: int, level: str, ratios: tuple[float, ...]
) -> None:
    last = Last()
    watch(last)
    figures = {
        MetricId("numbers", "numbers", BUSY_MS, 0): MetricValue(MergeRule.SUM, busy_ms),
        MetricId("numbers", "numbers", PENDING_RECORDS, 0): MetricValue(MergeRule.TOTAL, unread),
    }
    record = JobRecord("clicks", wall_ms=lambda: 61_000)
    record.on_start(replace(last.job, started_ms=60_000))
    timed = replace(last.batch, started_ms=60_000, now_ms=61_000, duration_ms=1000)
    record.on_batch(replace(timed, metrics=figures, totals=figures))
    answer = rest.backpressure(record, "numbers")
    assert answer["backpressureLevel"] == answer["subtasks"][0]["backpressure-level"] == level
    names = ("ratio", "idleRatio", "busyRatio")
    assert tuple(answer["subtasks"][0][name] for name in names) == ratios
    of_tasks = ["0.backPressuredTimeMsPerSecond", "0.idleTimeMsPerSecond", "0.busyTimeMsPerSecond"]
    found = rest.vertex_metrics(record, "numbers", of_tasks)
    assert tuple(float(each["value"]) for each in found) == tuple(1000 * each for each in ratios)
    waited = [
        rest.vertex_details(record, "numbers")["subtasks"][0],
        *(each for each in rest.job_details(record)["vertices"] if each["id"] == hex_id("numbers")),
    ]
    for name, ratio in zip(("backpressured", "idle", "busy"), ratios, strict=True):
        times = [each["metrics"][f"accumulated-{name}-time"] for each in waited]
        assert times == [round(1000 * ratio)] * 2
    unknown = rest.backpressure(record, window_vertex(record))["subtasks"][0]
    assert tuple(unknown[name] for name in names) == (0, 0, 0)


def test_the_last_savepoint_is_reported() -> None:
    record = watch()
    assert rest.checkpoints(record)["latest"]["savepoint"] is None
    record.on_savepoint(SavepointTaken("savepoints/a", 7, BEGAN_MS, 250.4, 1234))
    found = rest.checkpoints(record)["latest"]["savepoint"]
    assert found.keys() == rest.checkpoints(record)["latest"]["completed"].keys()
    assert (found["is_savepoint"], found["external_path"]) == (True, "savepoints/a")
    assert (found["id"], found["state_size"], found["end_to_end_duration"]) == (7, 1234, 250)


def test_the_settings_of_restore_points_are_reported() -> None:
    settings = {
        "interval": "5 min",
        "min-pause": "10 s",
        "timeout": "2 min",
        "num-retained": "3",
        "tolerable-failed-checkpoints": "4",
        "externalized-checkpoint-retention": "DELETE_ON_CANCELLATION",
    }
    record = watch()
    record.configuration = {f"execution.checkpointing.{key}": settings[key] for key in settings}
    assert record.job is not None
    record.job = replace(record.job, checkpoint="/checkpoints/clicks")
    found = rest.checkpoint_config(record)
    times = {key: found[key] for key in ("interval", "min_pause", "timeout")}
    assert times == {"interval": 300_000, "min_pause": 10_000, "timeout": 120_000}
    assert found["tolerable_failed_checkpoints"] == 4
    assert found["externalization"] == {"enabled": True, "delete_on_cancellation": True}


def test_without_restore_points_the_interval_is_the_pace_of_micro_batches() -> None:
    record = watch()
    record.configuration = {"execution.checkpointing.interval": "5 min"}
    found = rest.checkpoint_config(record)
    assert record.job is not None
    pace = record.job.program.settings.pace
    assert found["interval"] == (0 if pace is None else pace.target_ms)
    assert found["tolerable_failed_checkpoints"] == (1 << 31) - 1
    assert found["externalization"]["enabled"] is False


def test_a_failed_job_says_so() -> None:
    record = watch(function=lambda n: 1 // (50 - n))
    assert rest.overview([record])["jobs-failed"] == 1
    assert rest.job_details(record)["state"] == "FAILED"
    (entry,) = rest.exceptions(record, True)["exceptionHistory"]["entries"]
    assert entry["exceptionName"] == "ZeroDivisionError"
    assert entry["taskName"] == "mapped"


def test_ids_of_vertices_are_those_of_flink(record: JobRecord) -> None:
    vertices = rest.job_details(record)["vertices"]
    ids = {each["id"] for each in vertices}
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in ids)
    (sums,) = (each for each in vertices if each["name"].startswith("sums"))
    assert sums["id"] == hex_id("sums")
    nodes = rest.plan(record)["plan"]["nodes"]
    assert {each["id"] for each in nodes} == ids
    assert {link["id"] for each in nodes for link in each.get("inputs", ())} < ids
    found = rest.vertex_details(record, sums["id"])
    assert found["id"] == sums["id"]
    for known in (sums["id"].upper(), "sums"):
        assert rest.vertex_details(record, known) == found


def test_metrics_of_operators_have_their_subtask(record: JobRecord) -> None:
    def found(vertex: str, *wanted: str) -> dict[str, str]:
        answer = rest.vertex_metrics(record, hex_id(vertex), wanted)
        return {each["id"]: each["value"] for each in answer}

    names = ("numRecordsIn", "Source__numbers.numRecordsIn", "mapped.numRecordsOut", "counted.seen")
    of_source = found("numbers", *(f"0.{name}" for name in names))
    assert [*of_source.values()] == ["0", "100", "100", "100"]  # the task has read from no other
    assert found("numbers", "0.numRecordsOut") == {"0.numRecordsOut": "100"}
    names = ("0.sums.numRecordsIn", "0.sums.currentInputWatermark", "0.numRecordsIn", "1.none")
    assert [*found("sums", *names)] == [*names[:3]]
    (spread,) = rest.subtask_metrics(record, "numbers", ["Source__numbers.numRecordsIn"])
    assert spread["sum"] == 100.0


def test_a_metric_that_is_no_number_has_no_aggregates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched, "CountedUp", Unlimited)
    record = watch()
    assert rest.vertex_metrics(record, "numbers", ["0.counted.free"])[0]["value"] == "inf"
    assert rest.subtask_metrics(record, "numbers", ["counted.free"]) == []


class Unlimited(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        runtime_context.get_metrics_group().gauge("free", lambda: math.inf)

    def map(self, value: int) -> int:
        return value


def test_what_is_not_measured_is_not_complete(record: JobRecord) -> None:
    (sums,) = (v for v in rest.job_details(record)["vertices"] if v["id"] == hex_id("sums"))
    (task,) = rest.vertex_details(record, "sums")["subtasks"]
    for found in (sums["metrics"], task["metrics"]):
        assert (found["read-records"], found["read-records-complete"]) == (100, True)
        assert (found["read-bytes"], found["read-bytes-complete"]) == (0, False)  # local


def test_the_last_failure_to_save_is_reported() -> None:
    record = watch()
    assert rest.checkpoints(record)["latest"]["failed"] is None
    error = StorageError("disk at s3://ann:xyzzy@host is full")
    record.on_save_failed(SaveFailed(error, "savepoints/a", BEGAN_MS, BEGAN_MS + 250))
    found = rest.checkpoints(record)["latest"]["failed"]
    completed = rest.checkpoints(record)["latest"]["completed"]
    assert found.keys() ^ completed.keys() == {
        *("failure_timestamp", "failure_message", "external_path", "discarded")
    }
    assert (found["status"], found["className"], found["id"]) == ("FAILED", "failed", 9)
    assert (found["is_savepoint"], found["checkpoint_type"]) == (True, "SAVEPOINT")
    assert (found["failure_timestamp"], found["end_to_end_duration"]) == (BEGAN_MS + 250, 250)
    assert "is full" in found["failure_message"] and "xyzzy" not in found["failure_message"]
    record.on_save_failed(SaveFailed(ValueError("of a record"), None, BEGAN_MS, BEGAN_MS + 300))
    found = rest.checkpoints(record)["latest"]["failed"]
    assert (found["is_savepoint"], found["failure_timestamp"]) == (False, BEGAN_MS + 300)
    assert "of a record" not in found["failure_message"]
    record.on_failure(OSError("lost"), 10)  # the micro-batch of that time
    found = rest.checkpoints(record)["latest"]["failed"]
    assert found["failure_message"].startswith("OSError: ")


def test_an_unknown_vertex_is_not_found(record: JobRecord) -> None:
    with pytest.raises(rest.NotFound):
        rest.vertex_details(record, "none")


def test_times_are_those_of_the_reporters() -> None:
    last, now_ms = Last(), [1_000]
    watch(last)
    record = JobRecord("clicks", wall_ms=lambda: now_ms[-1])
    record.on_start(replace(last.job, started_ms=1_000))

    def times() -> list[str]:
        names = ["uptime", "downtime", "runningTime", "restartingTime"]
        return [each["value"] for each in rest.job_metrics(record, names)]

    now_ms.append(5_000)
    assert times() == ["4000", "0", "4000", "0"]
    record.on_failure(OSError(), 10)
    now_ms.append(6_000)
    assert times() == ["0", "1000", "0", "1000"]
    record.on_batch(replace(last.batch, started_ms=7_000, now_ms=7_500))
    now_ms.append(8_000)
    assert times() == ["1000", "0", "1000", "0"]
    record.on_end(JobStatus.FINISHED)
    assert times()[:2] == ["-1", "-1"]


def test_exceptions_are_as_many_as_wanted() -> None:
    record = watch()
    for number in range(60):  # more than are kept
        record.on_failure(OSError(number), 10)

    def found(most: int | None) -> tuple[int, bool]:
        history = rest.exceptions(record, True, most)["exceptionHistory"]
        assert not history["entries"] or "OSError: 59" in history["entries"][0]["stacktrace"]
        return len(history["entries"]), history["truncated"]

    assert (found(None), found(3), found(0)) == ((50, True), (3, True), (0, True))
    record = watch(function=lambda n: 1 // (50 - n))
    assert rest.exceptions(record, False, 1)["exceptionHistory"]["truncated"] is False


def test_only_the_last_checkpoint_is_kept(record: JobRecord) -> None:
    history = rest.checkpoints(record)["history"]
    assert [each["discarded"] for each in history] == [False] + [True] * (len(history) - 1)


def test_only_the_wanted_aggregates_are_answered(record: JobRecord) -> None:
    of_vertex = (record, window_vertex(record), ["numRecordsIn"])
    (found,) = rest.subtask_metrics(*of_vertex, ["sum", "min"])
    assert found == {"id": "numRecordsIn", "min": 100.0, "sum": 100.0}


def test_passwords_in_parameters_are_hidden() -> None:
    parameters = "region:eu,db.Password:xyzzy,db:'postgresql://ann:xyz@zy@db:5432/shop?x=y'"
    record = watch(**{"pipeline.global-job-parameters": parameters})
    found = rest.job_config(record)["execution-config"]["user-config"]
    assert found == {
        "region": "eu",
        "db.Password": "******",
        "db": "postgresql://ann:******@db:5432/shop?x=y",
    }
