"""The phases of micro-batches, from the events that Spark writes down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.peers import event_log
from bench.peers.protocol import Task

SQL = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecution"
PROGRESS = "org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent"


def micro_batch(number: int, slower_ms: int = 0) -> list[dict[str, Any]]:
    """The events of one that begins at 1000; its second stage takes longer by ``slower_ms``."""
    properties = {"streaming.sql.batchId": str(number), "spark.sql.execution.id": str(number)}
    stages = [{"Stage ID": 2 * number + each} for each in (0, 1)]
    times = [(1030, 1040), (1042, 1082 + slower_ms)]
    completed = [
        {
            "Event": "SparkListenerStageCompleted",
            "Stage Info": {**stage, "Submission Time": begin, "Completion Time": end},
        }
        for stage, (begin, end) in zip(stages, times, strict=True)
    ]
    end = 1085 + slower_ms
    durations = {"latestOffset": 2, "walCommit": 3, "queryPlanning": 15, "commitOffsets": 4}
    durations |= {"addBatch": 100 + slower_ms, "triggerExecution": 130 + slower_ms}
    return [
        {"Event": f"{SQL}Start", "executionId": number, "time": 1020},
        {
            "Event": "SparkListenerJobStart",
            "Job ID": number,
            "Submission Time": 1028,
            "Stage Infos": stages,
            "Properties": properties,
        },
        *completed,
        {"Event": "SparkListenerTaskEnd", "Task Info": {"Launch Time": 1, "Finish Time": 501}},
        {"Event": "SparkListenerJobEnd", "Job ID": number, "Completion Time": end},
        {"Event": f"{SQL}End", "executionId": number, "time": end + 20},
        {"Event": PROGRESS, "progress": {"batchId": number, "durationMs": durations}},
    ]


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return Task("a", 1, 1, "uniform", {"events": "1"}, tmp_path, tmp_path)


def write(task: Task, events: list[dict[str, Any]]) -> None:
    lines = [json.dumps(each) for each in events]
    (event_log.folder(task) / "log").write_text("\n".join(lines))


def test_the_phases_of_a_micro_batch_add_up(task: Task) -> None:
    write(task, micro_batch(event_log.WARM_UP))
    found = event_log.phases(task)
    whole = found.pop("whole")
    assert found == {
        "offsets planned": 2,
        "offsets logged": 3,
        "query planned": 15,
        "job prepared": 8,
        "stage 1": 10,
        "stage 2": 40,
        "job's rest": 7,
        "sinks committed": 20,
        "commit logged": 4,
        "rest": 21,
    }
    assert whole == sum(found.values()) == 130


def test_the_median_counts_and_what_comes_before_does_not(task: Task) -> None:
    slower = {event_log.WARM_UP + number: ms for number, ms in enumerate((10, 500, 30))}
    cold = micro_batch(0, slower_ms=9_000)
    later = [event for number, ms in slower.items() for event in micro_batch(number, ms)]
    write(task, cold + later)
    assert event_log.phases(task)["stage 2"] == 40 + 30
    assert event_log.task_seconds(task) == 4 * 0.5


def test_a_run_that_ends_in_its_warm_up_has_no_phases(task: Task) -> None:
    write(task, micro_batch(3) + micro_batch(event_log.WARM_UP)[:-1])
    assert event_log.phases(task) == {}
