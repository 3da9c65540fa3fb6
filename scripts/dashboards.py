"""Writes src/headrace/dashboards/*.json: dashboards for Grafana over a job's metrics.

    python scripts/dashboards.py           write the files
    python scripts/dashboards.py --check   say whether they are up to date; exits 1 if not

tests/metrics/test_dashboards.py asks a Prometheus for each panel's queries.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # as a script it sees its own folder alone

from scripts.generated import write_or_check  # noqa: E402

FOLDER = ROOT / "src" / "headrace" / "dashboards"

_SCHEMA = 39
"""The version of Grafana's dashboard schema, of Grafana 11 and newer."""

_WIDTH = 24
_ROW = 1
_DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}

JOB = "flink_jobmanager_job"
TASK = "flink_taskmanager_job_task"
OPERATOR = "flink_taskmanager_job_task_operator"
PARTITION = f"{OPERATOR}_KafkaSourceReader_topic_partition"
MINE = 'job_name=~"$job"'
"""The label filter for the jobs that the user has selected above the panels."""

_NO_END = 9e15
"""A limit below the final watermark, whose value would hide all others in a chart."""


@dataclass(frozen=True)
class Panel:
    """A panel: queries with their legends, and the unit in Grafana's terms."""

    title: str
    queries: Sequence[tuple[str, str]]
    unit: str = "short"
    text: str = ""
    kind: str = "timeseries"
    width: int = 12
    height: int = 8
    stacked: bool = False
    limits: Sequence[tuple[float | None, str]] = ()
    """The lower limit of each color."""


@dataclass(frozen=True)
class Row:
    """A row of the dashboard: a heading and its panels."""

    title: str
    panels: Sequence[Panel]


@dataclass(frozen=True)
class Dashboard:
    """A dashboard, and the metric whose jobs can be selected in it."""

    name: str
    title: str
    text: str
    rows: Sequence[Row]
    jobs_of: str = f"{JOB}_uptime"


def _stat(title: str, query: str, unit: str = "short", **more: Any) -> Panel:
    return Panel(title, [(query, "")], unit, kind="stat", width=4, height=4, **more)


def _sum(metric: str, by: str, selector: str = MINE) -> str:
    return f"sum by ({by}) ({metric}{{{selector}}})"


def _records_in(title: str) -> Panel:
    selector = f'{MINE},operator_name=~"Source:.*"'
    query = _sum(f"{OPERATOR}_numRecordsOutPerSecond", "operator_name", selector)
    return Panel(title, [(query, "{{operator_name}}")], "cps")


_LAG = f"max by (operator_name) ({OPERATOR}_watermarkLag{{{MINE}}})"
_DURATION = f"max by (job_name) ({JOB}_lastCheckpointDuration{{{MINE}}})"
_AGE = f"time() * 1000 - max by (job_name) ({JOB}_lastCheckpointCompletedTimestamp{{{MINE}}})"

_HEALTH = Row(
    "Now",
    [
        _stat(
            "Jobs that run",
            f"sum({JOB}_runningTime{{{MINE}}} > bool 0)",
            limits=[(None, "red"), (1, "green")],
        ),
        _stat("Up for", f"min({JOB}_uptime{{{MINE}}})", "ms"),
        _stat(
            "Restarts",
            f"sum({JOB}_numRestarts{{{MINE}}})",
            limits=[(None, "green"), (1, "orange"), (5, "red")],
        ),
        _stat(
            "Records in",
            f'sum({OPERATOR}_numRecordsOutPerSecond{{{MINE},operator_name=~"Source:.*"}})',
            "cps",
            text="Records per second that all sources read.",
        ),
        _stat(
            "Unread records",
            f"sum({OPERATOR}_pendingRecords{{{MINE}}})",
            text="Records that were unread when the last micro-batch was planned.",
        ),
        _stat(
            "Busiest task",
            f"max({TASK}_busyTimeMsPerSecond{{{MINE}}}) / 1000",
            "percentunit",
            limits=[(None, "green"), (0.7, "orange"), (0.95, "red")],
        ),
    ],
)

OVERVIEW = Dashboard(
    "job",
    "Headrace: job",
    "What a job does: records, time, event time, micro-batches.",
    [
        _HEALTH,
        Row(
            "Records",
            [
                _records_in("Records in, by source"),
                Panel(
                    "Records out, by sink",
                    [
                        (
                            _sum(
                                f"{OPERATOR}_numRecordsInPerSecond",
                                "operator_name",
                                f'{MINE},operator_name=~"Sink:.*"',
                            ),
                            "{{operator_name}}",
                        )
                    ],
                    "cps",
                ),
                Panel(
                    "Records in, by operator",
                    [
                        (
                            _sum(f"{OPERATOR}_numRecordsInPerSecond", "operator_name"),
                            "{{operator_name}}",
                        )
                    ],
                    "cps",
                ),
                Panel(
                    "Unread records, by source",
                    [(_sum(f"{OPERATOR}_pendingRecords", "operator_name"), "{{operator_name}}")],
                    text="If the line only rises, the job is slower than its input.",
                ),
                Panel(
                    "Late records that were dropped",
                    [
                        (
                            _sum(f"{OPERATOR}_numLateRecordsDropped", "operator_name"),
                            "{{operator_name}}",
                        )
                    ],
                ),
                Panel(
                    "Records that could not be decoded",
                    [
                        (
                            _sum(f"{OPERATOR}_numRecordsInErrors", "operator_name"),
                            "{{operator_name}}",
                        )
                    ],
                ),
            ],
        ),
        Row(
            "Time of the tasks",
            [
                Panel(
                    "Busy, by task",
                    [
                        (
                            f"avg by (task_name) ({TASK}_busyTimeMsPerSecond{{{MINE}}}) / 1000",
                            "{{task_name}}",
                        )
                    ],
                    "percentunit",
                    text="The mean over the subtasks of a task.",
                ),
                Panel(
                    "How sources spend a second",
                    [
                        (
                            f"avg({TASK}_{part}TimeMsPerSecond{{{MINE},"
                            'task_name=~"Source:.*"}) / 1000',
                            name,
                        )
                        for part, name in (
                            ("busy", "reads"),
                            ("backPressured", "waits for the rest of the micro-batch"),
                            ("idle", "idle"),
                        )
                    ],
                    "percentunit",
                    stacked=True,
                ),
            ],
        ),
        Row(
            "Event time",
            [
                Panel(
                    "Watermark behind the clock, by source",
                    [(_LAG, "{{operator_name}}")],
                    "ms",
                ),
                Panel(
                    "Watermark, by operator",
                    [
                        (
                            "min by (operator_name) "
                            f"({OPERATOR}_currentInputWatermark{{{MINE}}} < {_NO_END:.0f})",
                            "{{operator_name}}",
                        )
                    ],
                    "dateTimeAsIso",
                ),
            ],
        ),
    ],
)

KAFKA = Dashboard(
    "kafka",
    "Headrace: Kafka sources",
    "Lag and offsets of each partition that a job reads.",
    [
        Row(
            "Lag",
            [
                Panel(
                    "Lag, by topic",
                    [(_sum(f"{PARTITION}_recordsLag", "topic"), "{{topic}}")],
                    text="Records that were unread when the last micro-batch was planned.",
                ),
                Panel(
                    "Lag, by partition: the ten largest",
                    [
                        (
                            f"topk(10, {_sum(f'{PARTITION}_recordsLag', 'topic, partition')})",
                            "{{topic}} {{partition}}",
                        )
                    ],
                ),
                Panel(
                    "Seconds to read what is left",
                    [
                        (
                            f"sum by (task_id) ({OPERATOR}_pendingRecords{{{MINE}}}) / "
                            f"(sum by (task_id) ({OPERATOR}_numRecordsOutPerSecond{{{MINE},"
                            'operator_name=~"Source:.*"}) > 0)',
                            "{{task_id}}",
                        )
                    ],
                    "s",
                    text="At the rate of the last minute, without new records.",
                ),
                Panel(
                    "Watermark behind the clock, by source",
                    [(_LAG, "{{operator_name}}")],
                    "ms",
                ),
            ],
        ),
        Row(
            "Offsets",
            [
                Panel(
                    "Offsets read in a second, by topic",
                    [
                        (
                            f"sum by (topic) (deriv({PARTITION}_currentOffset{{{MINE}}}"
                            "[$__rate_interval]))",
                            "{{topic}}",
                        )
                    ],
                    "cps",
                ),
                Panel(
                    "Current offset, by partition",
                    [
                        (
                            f"max by (topic, partition) ({PARTITION}_currentOffset{{{MINE}}})",
                            "{{topic}} {{partition}}",
                        )
                    ],
                ),
                Panel(
                    "Committed offset of the group, by partition",
                    [
                        (
                            f"max by (topic, partition) ({PARTITION}_committedOffset{{{MINE}}})",
                            "{{topic}} {{partition}}",
                        )
                    ],
                ),
                Panel(
                    "Messages that could not be decoded",
                    [
                        (
                            _sum(f"{OPERATOR}_numRecordsInErrors", "operator_name"),
                            "{{operator_name}}",
                        )
                    ],
                ),
            ],
        ),
    ],
    jobs_of=f"{PARTITION}_currentOffset",
)

STATE = Dashboard(
    "state",
    "Headrace: state and micro-batches",
    "How much state a job has, how it is spread, and how long micro-batches take.",
    [
        Row(
            "State",
            [
                Panel(
                    "Bytes, by operator",
                    [(_sum(f"{OPERATOR}_stateBytes", "operator_name"), "{{operator_name}}")],
                    "bytes",
                    stacked=True,
                ),
                Panel(
                    "Entries, by operator",
                    [(_sum(f"{OPERATOR}_stateEntries", "operator_name"), "{{operator_name}}")],
                    text="Pairs of key and namespace, such as a window.",
                ),
                Panel(
                    "Largest subtask against the mean",
                    [
                        (
                            f"max by (operator_name) ({OPERATOR}_stateEntries{{{MINE}}}) / "
                            f"(avg by (operator_name) ({OPERATOR}_stateEntries{{{MINE}}}) > 0)",
                            "{{operator_name}}",
                        )
                    ],
                    text="1: keys are spread evenly.",
                ),
                Panel(
                    "Growth in an hour",
                    [
                        (
                            f"sum by (job_name) (deriv({OPERATOR}_stateBytes{{{MINE}}}"
                            "[$__rate_interval])) * 3600",
                            "{{job_name}}",
                        )
                    ],
                    "bytes",
                ),
            ],
        ),
        Row(
            "Micro-batches",
            [
                Panel(
                    "How long the last one took",
                    [(_DURATION, "{{job_name}}")],
                    "ms",
                    text="From its plan to its commit.",
                ),
                Panel(
                    "Since the last commit",
                    [(_AGE, "{{job_name}}")],
                    "ms",
                    text="It also rises while a job has no input.",
                ),
                Panel(
                    "Commits in a minute",
                    [
                        (
                            f"sum by (job_name) (deriv({JOB}_numberOfCompletedCheckpoints{{{MINE}}}"
                            "[$__rate_interval])) * 60",
                            "{{job_name}}",
                        )
                    ],
                ),
                Panel(
                    "Bytes that the last one has added to the checkpoint",
                    [
                        (
                            f"max by (job_name) ({JOB}_lastCheckpointSize{{{MINE}}})",
                            "{{job_name}}",
                        )
                    ],
                    "bytes",
                ),
            ],
        ),
    ],
)

_KINDS = f"{OPERATOR}_kind_anomalies"
_LINK = f'{MINE},operator_name="link_orders"'

TRADES = Dashboard(
    "trades",
    "Headrace: the trades job",
    "Orders, hierarchies and anomalies of `headrace demo trades`, or of a job made from it.",
    [
        Row(
            "Orders",
            [
                _stat(
                    "Hierarchies",
                    f"sum({OPERATOR}_hierarchies{{{_LINK}}})",
                    text="Since the program was started.",
                ),
                _stat("Open hierarchies", f"sum({OPERATOR}_open{{{_LINK}}})"),
                _stat("Documents", f"sum({OPERATOR}_documents{{{_LINK}}})"),
                _stat(
                    "Anomalies",
                    f"sum({_KINDS}{{{MINE}}})",
                    limits=[(None, "green"), (1, "orange")],
                ),
                _stat(
                    "Unread",
                    f"sum({OPERATOR}_pendingBytes{{{MINE}}})"
                    f" or sum({OPERATOR}_pendingRecords{{{MINE}}})",
                    text="Bytes of files, or records of Kafka.",
                ),
                _stat(
                    "Mean latency",
                    f"sum({OPERATOR}_latencyMs_sum{{{_LINK}}}) / "
                    f"(sum({OPERATOR}_latencyMs_count{{{_LINK}}}) > 0)",
                    "ms",
                    text="From an event to the micro-batch with its document, in the day's own"
                    " time.",
                ),
                Panel(
                    "Open hierarchies",
                    [(f"sum({OPERATOR}_open{{{_LINK}}})", "open")],
                ),
                _records_in("Records in, by feed"),
                Panel(
                    "Documents and new hierarchies in a second",
                    [
                        (f"sum(rate({OPERATOR}_{name}{{{_LINK}}}[$__rate_interval]))", name)
                        for name in ("documents", "hierarchies")
                    ],
                    "cps",
                ),
                Panel(
                    "State of the books, in entries",
                    [(f"sum({OPERATOR}_stateEntries{{{_LINK}}})", "entries")],
                ),
            ],
        ),
        Row(
            "Anomalies",
            [
                Panel(
                    "Anomalies in a second, by kind",
                    [
                        (
                            f"sum by (kind) (rate({_KINDS}{{{MINE}}}[$__rate_interval]))",
                            "{{kind}}",
                        )
                    ],
                    "cps",
                    stacked=True,
                ),
                Panel(
                    "Anomalies so far, by kind",
                    [(f"sum by (kind) ({_KINDS}{{{MINE}}})", "{{kind}}")],
                    kind="bargauge",
                ),
            ],
        ),
        Row(
            "Lag and latency",
            [
                Panel(
                    "Watermark behind the clock, by feed",
                    [(_LAG, "{{operator_name}}")],
                    "ms",
                ),
                Panel(
                    "Latency of documents",
                    [
                        (
                            f"sum(rate({OPERATOR}_latencyMs_sum{{{_LINK}}}[$__rate_interval])) / "
                            f"(sum(rate({OPERATOR}_latencyMs_count{{{_LINK}}}[$__rate_interval]))"
                            " > 0)",
                            "mean",
                        ),
                        (f'max({OPERATOR}_latencyMs{{{_LINK},quantile="1.0"}})', "highest so far"),
                    ],
                    "ms",
                ),
            ],
        ),
    ],
    jobs_of=f"{OPERATOR}_hierarchies",
)

DASHBOARDS = (OVERVIEW, KAFKA, STATE, TRADES)


def render(dashboard: Dashboard) -> str:
    """The JSON text that Grafana imports."""
    return json.dumps(_model(dashboard), indent=2) + "\n"


def _model(dashboard: Dashboard) -> dict[str, Any]:
    return {
        "uid": f"headrace-{dashboard.name}",
        "title": dashboard.title,
        "description": dashboard.text,
        "tags": ["headrace", "flink"],
        "schemaVersion": _SCHEMA,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "10s",
        "time": {"from": "now-30m", "to": "now"},
        "timezone": "browser",
        "annotations": {"list": []},
        "links": [
            {
                "type": "dashboards",
                "title": "Headrace",
                "icon": "external link",
                "tooltip": "",
                "targetBlank": False,
                "tags": ["headrace"],
                "asDropdown": True,
                "includeVars": True,
                "keepTime": True,
            }
        ],
        "templating": {
            "list": [
                {
                    "name": "datasource",
                    "label": "Prometheus",
                    "type": "datasource",
                    "query": "prometheus",
                },
                {
                    "name": "job",
                    "label": "Job",
                    "type": "query",
                    "datasource": _DATASOURCE,
                    "query": {
                        "query": f"label_values({dashboard.jobs_of}, job_name)",
                        "refId": "jobs",
                    },
                    "refresh": 2,
                    "sort": 1,
                    "multi": True,
                    "includeAll": True,
                    "allValue": ".*",
                    "current": {"text": ["All"], "value": ["$__all"]},
                },
            ]
        },
        "panels": [*_panels(dashboard.rows)],
    }


def _panels(rows: Iterable[Row]) -> Iterable[dict[str, Any]]:
    number, top = 0, 0
    for row in rows:
        number += 1
        yield {
            "id": number,
            "type": "row",
            "title": row.title,
            "collapsed": False,
            "panels": [],
            "gridPos": {"h": _ROW, "w": _WIDTH, "x": 0, "y": top},
        }
        top += _ROW
        left = height = 0
        for panel in row.panels:
            number += 1
            if left + panel.width > _WIDTH:
                left, top, height = 0, top + height, 0
            place = {"h": panel.height, "w": panel.width, "x": left, "y": top}
            yield _panel(panel, number, place)
            left, height = left + panel.width, max(height, panel.height)
        top += height


def _panel(panel: Panel, number: int, place: dict[str, int]) -> dict[str, Any]:
    limits = panel.limits or [(None, "green")]
    defaults: dict[str, Any] = {
        "unit": panel.unit,
        "thresholds": {
            "mode": "absolute",
            "steps": [{"color": color, "value": value} for value, color in limits],
        },
    }
    if panel.kind == "timeseries":
        if panel.unit in ("percentunit", "cps"):
            defaults["min"] = 0
        defaults["custom"] = {
            "lineWidth": 2,
            "fillOpacity": 40 if panel.stacked else 10,
            "showPoints": "never",
            "spanNulls": True,
            "stacking": {"mode": "normal" if panel.stacked else "none", "group": "A"},
        }
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.text,
        "gridPos": place,
        "datasource": _DATASOURCE,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": _options(panel),
        "targets": [
            {
                "refId": chr(ord("A") + at),
                "datasource": _DATASOURCE,
                "expr": query,
                "legendFormat": legend or "__auto",
                "range": panel.kind == "timeseries",
                "instant": panel.kind != "timeseries",
            }
            for at, (query, legend) in enumerate(panel.queries)
        ],
    }


def _options(panel: Panel) -> dict[str, Any]:
    if panel.kind == "timeseries":
        return {
            "legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull"]},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }
    reduce = {"calcs": ["lastNotNull"], "fields": "", "values": False}
    if panel.kind == "bargauge":
        return {"reduceOptions": reduce, "orientation": "horizontal", "displayMode": "gradient"}
    return {"reduceOptions": reduce, "colorMode": "value", "graphMode": "area"}


def main(arguments: list[str]) -> int:
    """Write or check the files."""
    wanted = {FOLDER / f"{each.name}.json": render(each) for each in DASHBOARDS}
    return write_or_check("dashboards.py", wanted, arguments, present=FOLDER.glob("*.json"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
