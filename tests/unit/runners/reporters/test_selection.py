"""Filters and labels work as those of Flink."""

from __future__ import annotations

import pytest

from headrace.common import Configuration
from headrace.common._options.metric_reporters import read_reporters
from headrace.errors import ConfigurationError
from headrace.runners.reporters.names import Identifiers, measurement_name, prometheus_name
from headrace.runners.reporters.samples import Kind, Sample, Scope
from headrace.runners.reporters.selection import Selection

VARIABLES = {
    "host": "h",
    "tm_id": "local[2]",
    "job_id": "j1",
    "job_name": "my job",
    "task_id": "t1",
    "task_name": "Source: a -> b",
    "operator_name": "b",
    "subtask_index": "0",
}


def sample(name: str, scope: Scope = Scope.OPERATOR, kind: Kind = Kind.COUNTER) -> Sample:
    return Sample(scope, name, kind, 1, VARIABLES)


RECORDS = sample("numRecordsIn")
RATE = sample("numRecordsInPerSecond", kind=Kind.METER)
BYTES = sample("numBytesIn", Scope.TASK)
RESTARTS = sample("numRestarts", Scope.JOB, Kind.GAUGE)
ALL = [RECORDS, RATE, BYTES, RESTARTS]


def configured(**keys: str) -> Configuration:
    named = {f"metrics.reporter.r.{key.replace('__', '.')}": keys[key] for key in keys}
    named["metrics.reporter.r.factory.class"] = (
        "org.apache.flink.metrics.slf4j.Slf4jReporterFactory"
    )
    return Configuration.from_dict(named)


def selection(**keys: str) -> Selection:
    (settings,) = read_reporters(configured(**keys))
    return Selection(settings)


def test_a_name_with_a_line_break_is_reported() -> None:
    odd = sample("two\nlines")
    assert selection().select([odd]) == [odd]
    assert selection(filter__includes="*:two*").select([odd]) == [odd]


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("*", ALL),
        ("*:*:*", ALL),
        ("*:numRecords*", [RECORDS, RATE]),
        ("*.job.task.operator:numRecords*", [RECORDS, RATE]),
        ("*.job.task.operator:numRecords*:meter", [RATE]),
        ("*:numRecords*,numBytes*:counter,meter", [RECORDS, RATE, BYTES]),
        ("jobmanager.job", [RESTARTS]),
        ("*.job", [RESTARTS]),
        ("*.job.*", [RECORDS, RATE, BYTES]),
        ("jobmanager.job;*.task:numBytesIn", [BYTES, RESTARTS]),
        ("jobmanagerXjob", []),
    ],
)
def test_filters(text: str, chosen: list[Sample]) -> None:
    assert selection(filter__includes=text).select(ALL) == chosen
    assert selection(filter__excludes=text).select(ALL) == [s for s in ALL if s not in chosen]


@pytest.mark.parametrize("text", ["*:*:size", "*:a:counter:b"])
def test_a_filter_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"metrics\.reporter\.r\.filter\.includes"):
        selection(filter__includes=text)


def test_labels_are_left_out_and_added() -> None:
    changed = selection(
        scope__variables__excludes="host;<tm_id>;topic", scope__variables__additional="team:data"
    )
    of_topic = Sample(Scope.JOB, "n", Kind.GAUGE, 1, VARIABLES, (("topic", "t"), ("part", "0")))
    (found,) = changed.select([of_topic])
    kept = {key: value for key, value in VARIABLES.items() if key not in ("host", "tm_id")}
    assert found.labels == {**kept, "team": "data", "part": "0"}
    assert found.logical_scope == of_topic.logical_scope


def test_names() -> None:
    groups = (("my group", None), ("topic", "a.b"))
    found = Sample(Scope.OPERATOR, "cur-off", Kind.GAUGE, 1, VARIABLES, groups)
    assert prometheus_name(found) == "flink_taskmanager_job_task_operator_my_group_topic_cur_off"
    assert measurement_name(found) == "taskmanager_job_task_operator_my_group_topic_cur-off"
    assert found.labels["topic"] == "a.b"


def test_identifiers_have_flinks_formats() -> None:
    found = Identifiers(configured())
    assert found.identifier(RECORDS) == "h.taskmanager.local[2].my job.b.0.numRecordsIn"
    assert found.identifier(RESTARTS) == "h.jobmanager.my job.numRestarts"
    own = configured()
    own.set_string("metrics.scope.operator", "<job_name>.x-<operator_name>.<none>")
    own.set_string("metrics.scope.jm", "driver").set_string("metrics.scope.jm-job", "*.<job_id>")
    other = Identifiers(own, "/")
    assert other.identifier(RECORDS) == "my job/x-b/<none>/numRecordsIn"
    assert other.identifier(RESTARTS) == "driver/j1/numRestarts"
