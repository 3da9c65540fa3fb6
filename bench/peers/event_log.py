"""Spark's own account of a query: the events that it writes down while it runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from bench.peers.protocol import Task

_SQL = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecution"
_PROGRESS = "org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent"

WARM_UP = 15
"""So many micro-batches come before those whose phases count."""


def is_wanted(task: Task) -> bool:
    """Whether a peer is to have Spark write its events."""
    return task.option("events", "") == "1"


def folder(task: Task) -> Path:
    """Where Spark writes them."""
    found = task.folder / "events"
    found.mkdir(parents=True, exist_ok=True)
    return found


def settings(task: Task) -> dict[str, str]:
    """The settings by which Spark writes them, as plain JSON in one file."""
    spark = "spark.eventLog"
    chosen = {f"{spark}.enabled": "true", f"{spark}.dir": folder(task).as_uri()}
    return chosen | {f"{spark}.compress": "false", f"{spark}.rolling.enabled": "false"}


def _events(task: Task) -> Iterator[dict[str, Any]]:
    for path in folder(task).iterdir():
        for line in path.read_text().splitlines():
            yield json.loads(line)


def task_seconds(task: Task) -> float:
    """The time of all of Spark's tasks, from their launch to their end, added up."""
    infos = [e["Task Info"] for e in _events(task) if e["Event"] == "SparkListenerTaskEnd"]
    return sum(info["Finish Time"] - info["Launch Time"] for info in infos) / 1000


def phases(task: Task) -> dict[str, float]:
    """The median ms of each phase of a micro-batch, after the warm-up; empty if none came after it.

    The phases follow each other, and ``whole`` is their sum as Spark measures it; the rest is what
    Spark does between them.
    """
    batches = _by_batch(_events(task))
    found = [_phases_of(each) for number, each in sorted(batches.items()) if number >= WARM_UP]
    complete = [each for each in found if each]
    names = dict.fromkeys(name for each in complete for name in each)
    return {name: median(each.get(name, 0.0) for each in complete) for name in names}


def _by_batch(events: Iterator[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """What is said of each micro-batch: its progress, its job, stages, and SQL execution."""
    batches: dict[int, dict[str, Any]] = {}
    by_stage: dict[int, int] = {}
    by_job: dict[int, int] = {}
    by_execution: dict[int, int] = {}
    begun: dict[int, int] = {}
    for event in events:
        kind = event["Event"]
        if kind == f"{_SQL}Start":
            begun[event["executionId"]] = event["time"]
        elif kind == "SparkListenerJobStart":
            properties = event["Properties"]
            if "streaming.sql.batchId" not in properties:
                continue
            number = int(properties["streaming.sql.batchId"])
            execution = int(properties["spark.sql.execution.id"])
            batch = batches.setdefault(number, {"stages": []})
            batch |= {"begins": begun[execution], "job": event["Submission Time"]}
            by_job[event["Job ID"]] = by_execution[execution] = number
            by_stage |= {stage["Stage ID"]: number for stage in event["Stage Infos"]}
        elif kind == "SparkListenerStageCompleted":
            stage = event["Stage Info"]
            if stage["Stage ID"] in by_stage:
                taken = stage["Completion Time"] - stage["Submission Time"]
                batches[by_stage[stage["Stage ID"]]]["stages"].append(taken)
        elif kind == "SparkListenerJobEnd" and event["Job ID"] in by_job:
            batches[by_job[event["Job ID"]]]["job ends"] = event["Completion Time"]
        elif kind == f"{_SQL}End" and event["executionId"] in by_execution:
            batches[by_execution[event["executionId"]]]["ends"] = event["time"]
        elif kind == _PROGRESS:
            progress = event["progress"]
            batch = batches.setdefault(progress["batchId"], {"stages": []})
            batch["durations"] = progress["durationMs"]
    return batches


def _phases_of(batch: dict[str, Any]) -> dict[str, float]:
    if not {"durations", "begins", "ends", "job ends"} <= batch.keys():
        return {}
    durations, *stages = batch["durations"], *batch["stages"]
    found = {
        "offsets planned": durations.get("latestOffset", 0),
        "offsets logged": durations.get("walCommit", 0),
        "query planned": durations.get("queryPlanning", 0),
        "job prepared": batch["job"] - batch["begins"],
    }
    found |= {f"stage {number}": taken for number, taken in enumerate(stages, 1)}
    found["job's rest"] = batch["job ends"] - batch["job"] - sum(stages)
    found["sinks committed"] = batch["ends"] - batch["job ends"]
    found["commit logged"] = durations.get("commitOffsets", 0)
    whole = durations["triggerExecution"]
    return {**found, "rest": whole - sum(found.values()), "whole": whole}
