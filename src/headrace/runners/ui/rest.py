"""Answers in the format of Flink's REST API, for tools that use it.

A micro-batch is reported as a checkpoint with the same number. An unknown size is -1. Only tasks of
sources can be back-pressured: within a micro-batch the others do not wait for each other.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.common._options import catalogue as options
from headrace.common._watermark_generators import MIN_WATERMARK
from headrace.common.configuration import Configuration
from headrace.common.job_status import JobStatus
from headrace.metrics import _operator_counts as names
from headrace.metrics._merging import Number
from headrace.runners.job_graph import CHAINED, JobGraph, VertexInfo
from headrace.runners.observers import JobInfo, SavepointTaken, Slots
from headrace.runners.reporters.flink_metrics import ALL_IDLE, ALL_WAITED, BUSY, IDLE, WAITED
from headrace.runners.reporters.samples import as_float
from headrace.runners.retention import RemovesCheckpoint, Retention
from headrace.runners.ui.record import BatchRow, FailedSave, Failure, JobRecord, JobView
from headrace.runners.ui.refusals import NotFound
from headrace.runners.ui.secrets import without_secrets
from headrace.runners.ui.task_metrics import task_metrics
from headrace.runners.ui.vertex_ids import hex_id

VERSION = "2.3.0"
"""The version of Flink whose format the answers have."""

REFRESH_MS = 1000
_TASK_STATES = (
    "CREATED",
    "SCHEDULED",
    "DEPLOYING",
    "INITIALIZING",
    "RUNNING",
    "FINISHED",
    "CANCELING",
    "CANCELED",
    "FAILED",
    "RECONCILING",
)
_PERCENTILES = (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999))
_QUARTILES = (("p25", 0.25), ("median", 0.5), ("p75", 0.75), ("p95", 0.95))
_UNKNOWN = -1
_ANY_NUMBER = (1 << 31) - 1
_TASK_STATE = {
    JobStatus.CREATED: "CREATED",
    JobStatus.RUNNING: "RUNNING",
    JobStatus.RESTARTING: "SCHEDULED",
    JobStatus.FINISHED: "FINISHED",
    JobStatus.CANCELED: "CANCELED",
    JobStatus.FAILED: "FAILED",
}


# The process.


def overview(records: Sequence[JobRecord]) -> dict[str, Any]:
    """Answer ``/overview``."""
    running = [each for each in records if not each.ended and each.job is not None]
    found = [_slots(each.job) for each in running if each.job is not None]
    ended = [each.status for each in records]
    return {
        "taskmanagers": max((each.executors for each in found), default=0),
        "slots-total": max((each.tasks for each in found), default=0),
        "slots-available": 0,
        "jobs-running": len(running),
        "jobs-finished": ended.count(JobStatus.FINISHED),
        "jobs-cancelled": ended.count(JobStatus.CANCELED),
        "jobs-failed": ended.count(JobStatus.FAILED),
        "flink-version": VERSION,
        "flink-commit": "headrace",
    }


def _slots(job: JobInfo) -> Slots:
    return job.find_slots() or Slots(1, job.cores)


def config() -> dict[str, Any]:
    """Answer ``/config``."""
    zone = time.localtime()
    return {
        "refresh-interval": REFRESH_MS,
        "timezone-name": zone.tm_zone,
        "timezone-offset": zone.tm_gmtoff * 1000,
        "flink-version": VERSION,
        "flink-revision": "headrace",
        "features": {
            "web-submit": False,
            "web-cancel": False,
            "web-rescale": False,
            "web-history": False,
        },
    }


def jobs(records: Sequence[JobRecord]) -> dict[str, Any]:
    """Answer ``/jobs``."""
    return {
        "jobs": [
            {"id": each.job.job_id, "status": each.status.name} for each in records if each.job
        ]
    }


def jobs_overview(records: Sequence[JobRecord]) -> dict[str, Any]:
    """Answer ``/jobs/overview``."""
    return {"jobs": [_job_overview(each.view(), each) for each in records if each.job]}


def _job_overview(view: JobView, record: JobRecord) -> dict[str, Any]:
    counts = {state.lower(): 0 for state in _TASK_STATES}
    total = sum(vertex.parallelism for vertex in view.graph.vertices)
    counts[_TASK_STATE.get(view.status, "RUNNING").lower()] = total
    return {
        "jid": _job_id(view),
        "name": view.name,
        "jobType": _job_type(view),
        "schedulerType": "Default",
        "start-time": record.started_ms,
        "end-time": _end(record),
        "duration": _duration(record, view),
        "state": view.status.name,
        "last-modification": max(record.status_times.values()),
        "tasks": {"total": total, **counts},
        "pending-operators": 0,
    }


def _job_id(view: JobView) -> str:
    return "" if view.job is None else view.job.job_id


def _job_type(view: JobView) -> str:
    return "BATCH" if view.job is not None and view.job.program.batch else "STREAMING"


def _end(record: JobRecord) -> int:
    return _UNKNOWN if record.ended_ms is None else record.ended_ms


def _duration(record: JobRecord, view: JobView) -> int:
    return (record.ended_ms or view.now_ms) - record.started_ms


# A job.


def job_details(record: JobRecord) -> dict[str, Any]:
    """Answer ``/jobs/:jobid``."""
    view = record.view()
    states = dict.fromkeys(_TASK_STATES, 0)
    states[_TASK_STATE.get(view.status, "RUNNING")] = len(view.graph.vertices)
    groups = [vertex.max_parallelism for vertex in view.graph.vertices]
    found = task_metrics(view.graph, record.samples())
    return {
        "jid": _job_id(view),
        "application-id": _job_id(view),
        "name": view.name,
        "isStoppable": False,
        "state": view.status.name,
        "job-type": _job_type(view),
        "schedulerType": "Default",
        "start-time": record.started_ms,
        "end-time": _end(record),
        "duration": _duration(record, view),
        "maxParallelism": max(groups, default=_UNKNOWN),
        "now": view.now_ms,
        "timestamps": {
            "INITIALIZING": record.started_ms,
            **{each.name: record.status_times.get(each, 0) for each in JobStatus},
        },
        "vertices": [
            _vertex_summary(record, view, each, found[each.id]) for each in view.graph.vertices
        ],
        "status-counts": states,
        "plan": _plan(view),
        "pending-operators": 0,
    }


def _vertex_summary(
    record: JobRecord,
    view: JobView,
    vertex: VertexInfo,
    by_subtask: Mapping[int, Mapping[str, Number]],
) -> dict[str, Any]:
    states = dict.fromkeys(_TASK_STATES, 0)
    state = _TASK_STATE.get(view.status, "RUNNING")
    states[state] = vertex.parallelism
    return {
        "id": hex_id(vertex.id),
        "slotSharingGroupId": _job_id(view),
        "name": vertex.name,
        "maxParallelism": vertex.max_parallelism,
        "parallelism": vertex.parallelism,
        "status": state,
        "start-time": record.started_ms,
        "end-time": _end(record),
        "duration": _duration(record, view),
        "tasks": states,
        "metrics": _io_metrics([*by_subtask.values()], _measured(by_subtask)),
    }


_COUNTED = {
    "read-bytes": names.BYTES_IN,
    "write-bytes": names.BYTES_OUT,
    "read-records": names.RECORDS_IN,
    "write-records": names.RECORDS_OUT,
}


def _measured(by_subtask: Mapping[int, Mapping[str, Number]]) -> frozenset[str]:
    """Return the metrics that a subtask of a vertex has."""
    return frozenset(name for values in by_subtask.values() for name in values)


def _io_metrics(tasks: Sequence[Mapping[str, Number]], measured: frozenset[str]) -> dict[str, Any]:
    """Return the sums over tasks; like Flink, 0 of a metric that is not ``measured``."""

    def total(metric: str) -> int:
        return int(sum(values.get(metric, 0) for values in tasks))

    return {
        **{name: total(metric) for name, metric in _COUNTED.items()},
        **{f"{name}-complete": metric in measured for name, metric in _COUNTED.items()},
        "accumulated-backpressured-time": total(ALL_WAITED),
        "accumulated-idle-time": total(ALL_IDLE),
        "accumulated-busy-time": float(total(names.BUSY_MS)),
    }


def plan(record: JobRecord) -> dict[str, Any]:
    """Answer ``/jobs/:jobid/plan``."""
    return {"plan": _plan(record.view())}


def _plan(view: JobView) -> dict[str, Any]:
    graph = view.graph
    return {
        "jid": _job_id(view),
        "name": view.name,
        "type": _job_type(view),
        "nodes": [_plan_node(graph, vertex) for vertex in reversed(graph.vertices)],
    }


def _plan_node(graph: JobGraph, vertex: VertexInfo) -> dict[str, Any]:
    of_vertex = {each.id: each.vertex for each in graph.operators}
    edges = [
        edge
        for edge in graph.edges
        if of_vertex[edge.target] == vertex.id and edge.label != CHAINED
    ]
    node: dict[str, Any] = {
        "id": hex_id(vertex.id),
        "operator": "",
        "parallelism": vertex.parallelism,
        "operator_strategy": "",
        "description": "<br/>".join(graph.operator(each).name for each in vertex.operators),
        "optimizer_properties": {},
    }
    if edges:
        node["inputs"] = [
            {
                "id": hex_id(of_vertex[edge.source]),
                "num": number,
                "exchange": "blocking" if edge.label != "FORWARD" else "pipelined_bounded",
                "ship_strategy": edge.label,
            }
            for number, edge in enumerate(edges)
        ]
    return node


def status(record: JobRecord) -> dict[str, Any]:
    """Answer ``/jobs/:jobid/status``."""
    return {"status": record.status.name}


def job_config(record: JobRecord) -> dict[str, Any]:
    """Answer ``/jobs/:jobid/config``."""
    view, settings = record.view(), record.configuration
    parallelism = view.job.program.parallelism if view.job is not None else 1
    return {
        "jid": _job_id(view),
        "name": view.name,
        "execution-config": {
            "restart-strategy": settings.get("restart-strategy.type", "none"),
            "job-parallelism": parallelism,
            "object-reuse-mode": view.job is not None and view.job.program.settings.object_reuse,
            "user-config": without_secrets(view.job.program.settings.job_parameters)
            if view.job
            else {},
        },
    }


def exceptions(record: JobRecord, with_values: bool, most: int | None = None) -> dict[str, Any]:
    """Answer ``/jobs/:jobid/exceptions``: the newest first, and at most ``most``."""
    location = "" if record.job is None else record.job.location
    view = record.view()
    entries = [
        _exception(each, location, with_values) for each in [*reversed(view.failures)][:most]
    ]
    is_cut = view.failure_count > len(entries)
    return {"exceptionHistory": {"entries": entries, "truncated": is_cut}}


def _exception(failure: Failure, location: str, with_values: bool) -> dict[str, Any]:
    shown = failure.shown(with_values)
    return {
        "exceptionName": shown.name,
        "stacktrace": shown.stacktrace,
        "timestamp": failure.at_ms,
        "failureLabels": {},
        "taskName": shown.operator,
        "endpoint": location,
        "taskManagerId": location,
        "concurrentExceptions": [],
    }


def accumulators(record: JobRecord) -> dict[str, Any]:
    """Answer ``/jobs/:jobid/accumulators``."""
    view = record.view()
    return {
        "job-accumulators": [],
        "user-task-accumulators": [
            {"name": name, "type": "Metric", "value": _number_text(value)}
            for name, value in view.figures.items()
        ],
        "serialized-user-task-accumulators": {},
    }


def job_metrics(record: JobRecord, wanted: Sequence[str] | None) -> list[dict[str, Any]]:
    """Answer ``/jobs/:jobid/metrics``; ``wanted`` None: only the names of all metrics."""
    view = record.view()
    counts = _batch_counts(view)
    found: dict[str, float] = {
        **record.job_metrics(),
        "totalNumberOfCheckpoints": counts["total"],
        "numberOfInProgressCheckpoints": counts["in_progress"],
        "numberOfCompletedCheckpoints": counts["completed"],
        "numberOfFailedCheckpoints": counts["failed"],
    }
    if view.batches:
        found["lastCheckpointDuration"] = round(view.batches[-1].duration_ms)
        found["lastCompletedCheckpointId"] = view.batches[-1].batch_id
    added_bytes = record.added_bytes()
    if added_bytes is not None:
        found["lastCheckpointSize"] = added_bytes
    if view.state_bytes is not None:
        found["lastCheckpointFullSize"] = view.state_bytes
    return _metric_values(found, wanted)


def _metric_values(
    found: Mapping[str, float], wanted: Sequence[str] | None
) -> list[dict[str, Any]]:
    if wanted is None:
        return [{"id": name} for name in found]
    return [{"id": name, "value": _number_text(found[name])} for name in wanted if name in found]


def _number_text(number: float) -> str:
    """Return a number with all of its digits; a whole number without a point."""
    whole = isinstance(number, int) or number.is_integer()
    return f"{int(number)}" if whole else f"{number!r}"


# Micro-batches, as checkpoints.


def checkpoints(record: JobRecord) -> dict[str, Any]:
    """Answer ``/jobs/:jobid/checkpoints``: the last micro-batches, the newest first."""
    view = record.view()
    rows = [*reversed(view.batches)]
    size = _UNKNOWN if view.state_bytes is None else view.state_bytes
    history = [
        _checkpoint(view, row, size if row is rows[0] else _UNKNOWN, row is rows[0]) for row in rows
    ]
    sizes = [] if view.state_bytes is None else [size]
    return {
        "counts": {"restored": view.restarts, **_batch_counts(view)},
        "summary": {
            "checkpointed_size": _statistics(sizes),
            "state_size": _statistics(sizes),
            "end_to_end_duration": _statistics([round(row.duration_ms) for row in rows]),
            "alignment_buffered": _statistics([0]),
            "processed_data": _statistics([0]),
            "persisted_data": _statistics([0]),
        },
        "latest": {
            "completed": history[0] if history else None,
            "savepoint": None if record.savepoint is None else _savepoint(view, record.savepoint),
            "failed": _last_failed(record, view),
            "restored": None,
        },
        "history": history,
    }


def _batch_counts(view: JobView) -> dict[str, int]:
    in_progress = view.open_batches
    return {
        "total": view.batch_count + view.failure_count + in_progress,
        "in_progress": in_progress,
        "completed": view.batch_count,
        "failed": view.failure_count,
    }


def _checkpoint(view: JobView, row: BatchRow, size: int, is_last: bool) -> dict[str, Any]:
    folder = None if view.job is None else view.job.checkpoint
    return {
        **_completed(view, row.batch_id, row.started_ms, row.duration_ms, size),
        "external_path": folder or "<checkpoint-not-externally-addressable>",
        "discarded": not is_last,
    }


def _savepoint(view: JobView, taken: SavepointTaken) -> dict[str, Any]:
    return {
        **_completed(
            *(view, taken.batch_id, taken.started_ms, taken.duration_ms, taken.size_bytes, True)
        ),
        "external_path": taken.folder,
        "discarded": False,
    }


def _last_failed(record: JobRecord, view: JobView) -> dict[str, Any] | None:
    """Return the last micro-batch, savepoint or restore point that failed."""
    found = [] if record.failed_save is None else [record.failed_save]
    if view.failures:
        failure = view.failures[-1]
        message = f"{failure.masked.name}: {failure.masked.message}"
        found.append(FailedSave(False, failure.at_ms, failure.at_ms, message))
    if not found:
        return None
    last = max(found, key=lambda each: each.failed_ms)
    batch_id = view.batches[-1].batch_id if view.batches else _UNKNOWN
    took_ms = last.failed_ms - last.started_ms
    return {
        **_completed(view, batch_id, last.started_ms, took_ms, _UNKNOWN, last.is_savepoint),
        "className": "failed",
        "status": "FAILED",
        "latest_ack_timestamp": _UNKNOWN,
        "num_acknowledged_subtasks": 0,
        "failure_timestamp": last.failed_ms,
        "failure_message": last.message,
    }


def _completed(
    view: JobView,
    batch_id: int,
    started_ms: int,
    duration_ms: float,
    size: int,
    is_savepoint: bool = False,
) -> dict[str, Any]:
    """Return what checkpoints and savepoints have in common."""
    tasks = sum(vertex.parallelism for vertex in view.graph.vertices)
    return {
        "className": "completed",
        "id": batch_id,
        "status": "COMPLETED",
        "is_savepoint": is_savepoint,
        "savepointFormat": "CANONICAL" if is_savepoint else None,
        "trigger_timestamp": started_ms,
        "latest_ack_timestamp": round(started_ms + duration_ms),
        "checkpointed_size": size,
        "state_size": size,
        "end_to_end_duration": round(duration_ms),
        "alignment_buffered": 0,
        "processed_data": 0,
        "persisted_data": 0,
        "num_subtasks": tasks,
        "num_acknowledged_subtasks": tasks,
        "checkpoint_type": "SAVEPOINT" if is_savepoint else "CHECKPOINT",
        "tasks": {},
    }


def checkpoint_config(record: JobRecord) -> dict[str, Any]:
    """Answer ``/jobs/:jobid/checkpoints/config``: the settings of restore points.

    ``interval``: how often one is kept; without restore points, the target of a micro-batch.
    """
    view, configuration = record.view(), Configuration.from_dict(record.configuration)
    pace = view.job.program.settings.pace if view.job is not None else None
    kept = view.job is not None and view.job.checkpoint is not None
    removed = RemovesCheckpoint(options.read(configuration, options.CHECKPOINT_RETENTION))
    failures = options.read(configuration, options.CHECKPOINT_FAILURES)
    points = Retention.of(configuration) if kept else None
    interval_ms = 0 if pace is None else pace.target_ms
    return {
        "mode": "exactly_once",
        "interval": interval_ms if points is None else points.interval_ms,
        "timeout": options.read(configuration, options.CHECKPOINT_TIMEOUT),
        "min_pause": options.read(configuration, options.CHECKPOINT_MIN_PAUSE),
        "max_concurrent": 1,
        "externalization": {
            "enabled": kept and removed is not RemovesCheckpoint.AT_END,
            "delete_on_cancellation": not kept or removed is not RemovesCheckpoint.NEVER,
        },
        "state_backend": "RocksDB" if view.job and view.job.runner == "spark" else "Heap",
        "checkpoint_storage": "Headrace",
        "unaligned_checkpoints": False,
        "tolerable_failed_checkpoints": _ANY_NUMBER if failures < 0 else failures,
        "aligned_checkpoint_timeout": 0,
        "checkpoints_after_tasks_finish": True,
        "state_changelog_enabled": False,
        "changelog_periodic_materialization_interval": 0,
        "changelog_storage": "none",
    }


def _statistics(values: Sequence[float]) -> dict[str, Any]:
    return {
        "min": min(values, default=_UNKNOWN),
        "max": max(values, default=_UNKNOWN),
        "avg": round(sum(values) / len(values)) if values else _UNKNOWN,
        **{name: _quantile(values, share) for name, share in _PERCENTILES},
    }


def _quantile(values: Sequence[float], share: float) -> float:
    if not values:
        return float(_UNKNOWN)
    ordered = sorted(values)
    return float(ordered[min(math.ceil(share * len(ordered)), len(ordered)) - 1])


# A vertex.


def vertex_details(record: JobRecord, vertex_id: str) -> dict[str, Any]:
    """Answer ``/jobs/:jobid/vertices/:vertexid``."""
    view, vertex = _vertex(record, vertex_id)
    by_subtask = task_metrics(view.graph, record.samples())[vertex.id]
    measured = _measured(by_subtask)
    state = _TASK_STATE.get(view.status, "RUNNING")
    duration = _duration(record, view)
    subtasks: list[dict[str, Any]] = [
        {
            "subtask": number,
            "status": state,
            "attempt": view.restarts,
            "endpoint": "" if view.job is None else view.job.location,
            "start-time": record.started_ms,
            "start_time": record.started_ms,
            "end-time": _end(record),
            "duration": duration,
            "metrics": _io_metrics([by_subtask.get(number, {})], measured),
            "taskmanager-id": "" if view.job is None else view.job.location,
            "status-duration": {state: duration},
        }
        for number in range(vertex.parallelism)
    ]
    aggregated = {
        name: _aggregate([task["metrics"][name] for task in subtasks])
        for name, value in _io_metrics([], measured).items()
        if not isinstance(value, bool)
    }
    return {
        "id": hex_id(vertex.id),
        "name": vertex.name,
        "parallelism": vertex.parallelism,
        "maxParallelism": vertex.max_parallelism,
        "now": view.now_ms,
        "subtasks": subtasks,
        "aggregated": {
            "metrics": aggregated,
            "status-duration": {state: _aggregate([duration] * vertex.parallelism)},
        },
    }


def _aggregate(values: Sequence[float]) -> dict[str, int]:
    found = {
        "min": min(values, default=0),
        "max": max(values, default=0),
        "avg": sum(values) / len(values) if values else 0,
        "sum": sum(values),
        **{name: _quantile(values, share) for name, share in _QUARTILES},
    }
    return {name: int(value) for name, value in found.items()}


def watermarks(record: JobRecord, vertex_id: str) -> list[dict[str, Any]]:
    """Answer ``/jobs/:jobid/vertices/:vertexid/watermarks``."""
    view, vertex = _vertex(record, vertex_id)
    first = view.operators.get(vertex.operators[0])
    known = None if first is None else first.watermark_ms
    value = f"{MIN_WATERMARK if known is None else known}"
    return [
        {"id": f"{number}.currentInputWatermark", "value": value}
        for number in range(vertex.parallelism)
    ]


def backpressure(record: JobRecord, vertex_id: str) -> dict[str, Any]:
    """Answer ``/jobs/:jobid/vertices/:vertexid/backpressure``."""
    view, vertex = _vertex(record, vertex_id)
    loads = record.loads()(vertex.id)
    subtasks = [
        _backpressure(number, loads.get(number, {})) for number in range(vertex.parallelism)
    ]
    level = _backpressure_level(max((each["ratio"] for each in subtasks), default=0.0))
    return {
        "status": "ok",
        "backpressureLevel": level,
        "backpressure-level": level,
        "end-timestamp": view.now_ms,
        "subtasks": subtasks,
    }


def _backpressure(subtask: int, load: Mapping[str, float]) -> dict[str, Any]:
    """Return the ratios of a subtask; a ratio that is not known is 0, as in Flink."""
    ratio, idle, busy = (round(load.get(name, 0) / 1000, 3) for name in (WAITED, IDLE, BUSY))
    level = _backpressure_level(ratio)
    return {
        "subtask": subtask,
        "backpressureLevel": level,
        "backpressure-level": level,
        "ratio": ratio,
        "idleRatio": idle,
        "busyRatio": busy,
    }


def _backpressure_level(ratio: float) -> str:
    """Return the level of a ratio, with Flink's limits."""
    if ratio <= 0.1:
        return "ok"
    return "low" if ratio <= 0.5 else "high"


def vertex_metrics(
    record: JobRecord, vertex_id: str, wanted: Sequence[str] | None
) -> list[dict[str, Any]]:
    """Answer ``/jobs/:jobid/vertices/:vertexid/metrics``: names begin with the subtask's number."""
    view, vertex = _vertex(record, vertex_id)
    by_subtask = task_metrics(view.graph, record.samples())[vertex.id]
    found = {
        f"{number}.{name}": value
        for number, values in sorted(by_subtask.items())
        for name, value in values.items()
    }
    return _metric_values(found, wanted)


def subtask_metrics(
    record: JobRecord,
    vertex_id: str,
    wanted: Sequence[str] | None,
    aggregates: Sequence[str] | None = None,
) -> list[dict[str, Any]]:
    """Answer ``/jobs/:jobid/vertices/:vertexid/subtasks/metrics``: over all subtasks.

    ``aggregates``: the names of those that are wanted; None: all.
    """
    view, vertex = _vertex(record, vertex_id)
    by_subtask = task_metrics(view.graph, record.samples())[vertex.id]
    if wanted is None:
        return [{"id": name} for name in sorted(_measured(by_subtask))]
    answers = []
    for name in wanted:
        found = (as_float(each[name]) for each in by_subtask.values() if name in each)
        values = [value for value in found if math.isfinite(value)]
        if values:
            spread = _spread(values).items()
            kept = {key: value for key, value in spread if not aggregates or key in aggregates}
            answers.append({"id": name, **kept})
    return answers


def _spread(values: Sequence[float]) -> dict[str, float]:
    mean = sum(values) / len(values)
    deviation = sum(abs(value - mean) for value in values) / len(values)
    return {
        "min": float(min(values)),
        "max": float(max(values)),
        "avg": float(mean),
        "sum": float(sum(values)),
        "skew": round(100 * deviation / mean, 1) if mean else 0.0,
    }


def _vertex(record: JobRecord, vertex_id: str) -> tuple[JobView, VertexInfo]:
    """Return the vertex of an id: 32 digits, or the id of its first operator."""
    view = record.view()
    for vertex in view.graph.vertices:
        if hex_id(vertex.id) == vertex_id.lower():
            return view, vertex
    for vertex in view.graph.vertices:
        if vertex.id == vertex_id:
            return view, vertex
    raise NotFound(f"Vertex {vertex_id} not found in job {_job_id(view)}")
