"""Observers see each committed micro-batch once, with Spark's durations of it."""

from __future__ import annotations

from typing import Any, cast

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.graph.stream_graph import StreamGraph
from headrace.runners.delivery import Delivery
from headrace.runners.launch import program_of
from headrace.runners.observers import BatchProgress, Observers
from headrace.runners.spark.link import BatchReport
from headrace.runners.spark.reports import Reports


class Seen:
    def __init__(self) -> None:
        self.batches: list[BatchProgress] = []

    def on_batch(self, batch: BatchProgress) -> None:
        self.batches.append(batch)


def test_the_durations_of_an_idle_trigger_are_not_those_of_the_next_micro_batch() -> None:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration())
    env.from_collection([1]).print()
    program = program_of(StreamGraph.of(env._take_sinks()), env._configuration, "job")
    seen = Seen()
    observers = Observers([cast(Any, seen)])
    reports = Reports(program, Delivery(), observers=observers, planned_file="no file")
    reports.receive(BatchReport(4))
    reports.observe(4, {"latestOffset": 2, "triggerExecution": 6})
    assert seen.batches == []
    reports.observe(4, {"latestOffset": 2, "addBatch": 300, "triggerExecution": 350})
    assert [(each.batch_id, each.duration_ms) for each in seen.batches] == [(4, 350)]
