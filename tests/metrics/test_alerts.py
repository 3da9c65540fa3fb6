"""Each alert rule fires when it should, and not before, by promtool's own engine."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from tests.servers import promtool

JOB = "flink_jobmanager_job"
TASK = "flink_taskmanager_job_task"
OPERATOR = f"{TASK}_operator"
RULES = Path(str(files("headrace"))) / "dashboards" / "alerts.yml"


@dataclass(frozen=True)
class Case:
    """An alert: series by minute, when it is quiet still, when it fires, and what it says."""

    alert: str
    series: dict[str, str]
    quiet_at: str
    fires_at: str
    severity: str
    summary: str
    description: str
    labels: dict[str, str] = field(default_factory=dict)


CASES = [
    Case(
        "HeadraceJobGone",
        {f'{JOB}_uptime{{job_name="j"}}': "0+60000x20 stale"},
        "20m",
        "24m",
        "critical",
        "j no longer reports metrics",
        "Its process has ended, or Prometheus cannot reach it. A batch job may have"
        " finished normally.",
    ),
    Case(
        "HeadraceJobDown",
        {f'{JOB}_downtime{{job_name="j"}}': "0x5 50000 110000"},
        "6m",
        "7m",
        "critical",
        "j has failed and does not run",
        "It failed 110k ms ago. See the program's output for the reason.",
    ),
    Case(
        "HeadraceJobRestarts",
        {f'{JOB}_numRestarts{{job_name="j"}}': "0x10 1 2 3 4 5x10"},
        "10m",
        "20m",
        "warning",
        "j restarts repeatedly",
        "5 restarts in 15 minutes. See the program's output for the reason.",
    ),
    Case(
        "HeadraceNothingCommitted",
        {
            f'{JOB}_lastCheckpointCompletedTimestamp{{job_name="j"}}': "0x30",
            f'{OPERATOR}_pendingRecords{{job_name="j",operator_name="s"}}': "5x30",
        },
        "10m",
        "11m",
        "critical",
        "j has unread records, and has committed nothing for ten minutes",
        "A micro-batch hangs or takes very long. See Spark's page for its tasks.",
    ),
    Case(
        "HeadraceMicroBatchSlow",
        {f'{JOB}_lastCheckpointDuration{{job_name="j"}}': "1000 61000x20"},
        "10m",
        "12m",
        "warning",
        "Micro-batches of j take longer than a minute",
        "The last one took 61k ms. Results are delayed by this time.",
    ),
    Case(
        "HeadraceLagGrows",
        {f'{OPERATOR}_pendingRecords{{job_name="j",operator_name="s"}}': "0+20000x30"},
        "10m",
        "20m",
        "warning",
        "j is slower than its input",
        "400k records are unread, and their number grows.",
    ),
    Case(
        "HeadraceKafkaPartitionLags",
        {
            f"{OPERATOR}_KafkaSourceReader_topic_partition_recordsLag"
            '{job_name="j",topic="t",partition="0"}': "100001x30",
            f"{OPERATOR}_KafkaSourceReader_topic_partition_recordsLag"
            '{job_name="j",topic="t",partition="1"}': "100x30",
        },
        "14m",
        "15m",
        "warning",
        "j lags on t 0",
        "100k records are unread.",
        {"topic": "t", "partition": "0"},
    ),
    Case(
        "HeadraceWatermarkLags",
        {f'{OPERATOR}_watermarkLag{{job_name="j",operator_name="s"}}': "0+60000x30"},
        "19m",
        "21m",
        "warning",
        "Event time of j is behind at s",
        "The watermark is 1.26M ms behind the clock, so windows are delayed.",
        {"operator_name": "s"},
    ),
    Case(
        "HeadraceTaskBusy",
        {
            f'{TASK}_busyTimeMsPerSecond{{job_name="j",task_name="t",subtask_index="0"}}': "960x30",
            f'{TASK}_busyTimeMsPerSecond{{job_name="j",task_name="t",subtask_index="1"}}': "980x30",
        },
        "14m",
        "15m",
        "warning",
        "t of j is always busy",
        "It needs more parallelism, or less work for each record.",
        {"task_name": "t"},
    ),
    Case(
        "HeadraceBadRecords",
        {f'{OPERATOR}_numRecordsInErrors{{job_name="j",operator_name="s"}}': "0x10 9x10"},
        "10m",
        "15m",
        "warning",
        "s of j gets records that cannot be decoded",
        "9 in ten minutes. Check the format of the input.",
        {"operator_name": "s"},
    ),
    Case(
        "HeadraceLateRecords",
        {
            f'{OPERATOR}_numLateRecordsDropped{{job_name="j",operator_name="w"}}': "0x5 0+2x30",
            f'{OPERATOR}_numRecordsIn{{job_name="j",operator_name="w"}}': "0+100x40",
        },
        "5m",
        "25m",
        "warning",
        "w of j drops more than 1% of its records",
        "They arrive after their window has ended. Increase the watermark strategy's bound or"
        " the allowed lateness.",
        {"operator_name": "w"},
    ),
    Case(
        "HeadraceStateGrows",
        {f'{OPERATOR}_stateBytes{{job_name="j",operator_name="w"}}': "1e9x60 1e9+5e6x60"},
        "60m",
        "120m",
        "warning",
        "The state of j will double within a day",
        "In a day it will have 7.901GiB. Check whether a time to live is missing.",
    ),
    Case(
        "TradesAnomalies",
        {
            f'{OPERATOR}_kind_anomalies{{job_name="j",kind="LATE"}}': "0x5 0+2x30",
            f'{OPERATOR}_documents{{job_name="j",operator_name="link_orders"}}': "0+120x40",
        },
        "5m",
        "25m",
        "warning",
        "More than 1% of the input of j is not valid",
        "33.33m anomalies per second.",
    ),
    Case(
        "TradesDocumentsStop",
        {
            f'{OPERATOR}_documents{{job_name="j",operator_name="link_orders"}}': "0+10x10 100x40",
            f'{OPERATOR}_numRecordsIn{{job_name="j",operator_name="link_orders"}}': "0+10x60",
        },
        "20m",
        "35m",
        "critical",
        "j reads events but writes no documents",
        "Its watermark may not advance because one feed sends nothing.",
    ),
]


def test_every_rule_has_a_case() -> None:
    rules = re.findall(r"^ *- alert: (\w+)$", RULES.read_text(), re.MULTILINE)
    assert rules == [case.alert for case in CASES]


def unit_test(case: Case) -> dict[str, object]:
    """A case in promtool's words."""
    fired = {
        "exp_labels": {"job_name": "j", "severity": case.severity, **case.labels},
        "exp_annotations": {"summary": case.summary, "description": case.description},
    }
    return {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [
                    {"series": name, "values": values} for name, values in case.series.items()
                ],
                "alert_rule_test": [
                    {"eval_time": case.quiet_at, "alertname": case.alert, "exp_alerts": []},
                    {"eval_time": case.fires_at, "alertname": case.alert, "exp_alerts": [fired]},
                ],
            }
        ],
    }


def test_each_fires(tmp_path: Path) -> None:
    """One process tests all of them, and names the files whose cases fail."""
    paths = [tmp_path / f"{case.alert}.yml" for case in CASES]
    for case, path in zip(CASES, paths, strict=True):
        path.write_text(json.dumps(unit_test(case)))  # JSON is YAML
    command = [promtool(), "test", "rules", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("SUCCESS") == len(CASES)


def test_the_rules_are_valid() -> None:
    done = subprocess.run(
        [promtool(), "check", "rules", str(RULES)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
