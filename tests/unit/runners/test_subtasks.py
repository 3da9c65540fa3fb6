"""Metrics by operator and subtask, as a program asks for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream._build.execution import _build_graph
from headrace.datastream.functions import MapFunction, RuntimeContext
from headrace.metrics._merging import MergeRule, MetricId, MetricValue
from headrace.runners.launch import program_of
from headrace.runners.subtasks import metrics_by_subtask

LOCAL = Configuration.from_dict({"execution.target": "local", "parallelism.default": "3"})


class Sized(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        group = runtime_context.get_metrics_group()
        self.sizes = group.add_group("by", "eu").distribution("size")

    def map(self, value: int) -> int:
        self.sizes.update(value)
        return value


def test_a_client_has_the_metrics_of_each_operator() -> None:
    env = StreamExecutionEnvironment.get_execution_environment(LOCAL)
    env.from_collection([1, 2, 6]).uid("numbers").map(Sized()).uid("sized").print().uid("shown")
    client = env.execute_async("measured")
    client.get_job_execution_result().result()
    found = client.get_metrics().result()
    assert found["numbers"][0]["numRecordsOut"] == 3
    assert found["shown"] == {0: {"numRecordsIn": 3}}
    sizes = {k: v for k, v in found["sized"][0].items() if k.startswith("by.")}
    assert sizes == {
        **{"by.eu.size.count": 3, "by.eu.size.sum": 9, "by.eu.size.mean": 3.0},
        **{"by.eu.size.min": 1, "by.eu.size.max": 6},
    }


def test_tasks_and_key_groups_of_a_subtask_are_together() -> None:
    env = StreamExecutionEnvironment.get_execution_environment(LOCAL)
    keyed = env.from_collection([1, 2, 6]).key_by(lambda n: n)
    keyed.reduce(lambda a, b: a + b).uid("sums").print()
    program = program_of(_build_graph(env._take_sinks(), LOCAL), LOCAL, "measured")
    program = replace(program, partitions=3)

    def entry(metric: str, number: int, rule: MergeRule, value: Any) -> Any:
        return MetricId("sums", "sums", metric, number), MetricValue(rule, value)

    totals = dict(
        [
            entry("numRecordsIn", 2, MergeRule.SUM, 4),
            entry("stateEntries", 2, MergeRule.TOTAL, 5),
            entry("stateEntries", 5, MergeRule.TOTAL, 6),
            entry("stateEntries", 4, MergeRule.TOTAL, 7),
            (MetricId("", "", "numRecordsIn"), MetricValue(MergeRule.SUM, 9)),
        ]
    )
    assert metrics_by_subtask(program, totals) == {
        "sums": {1: {"stateEntries": 7}, 2: {"numRecordsIn": 4, "stateEntries": 11}}
    }
