"""Observers see each committed micro-batch once, with Spark's durations of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.graph.stream_graph import StreamGraph
from headrace.runners.delivery import Delivery
from headrace.runners.launch import program_of
from headrace.runners.observers import BatchProgress, Observers
from headrace.runners.spark.link import BatchReport
from headrace.runners.spark.planned import PlannedBatch
from headrace.runners.spark.reports import Reports


class Seen:
    def __init__(self) -> None:
        self.batches: list[BatchProgress] = []

    def on_batch(self, batch: BatchProgress) -> None:
        self.batches.append(batch)


def reports_of(planned_file: str, *observers: Any) -> Reports:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration())
    env.from_collection([1]).print()
    program = program_of(StreamGraph.of(env._take_sinks()), env._configuration, "job")
    return Reports(program, Delivery(), observers=Observers(observers), planned_file=planned_file)


def test_the_durations_of_an_idle_trigger_are_not_those_of_the_next_micro_batch() -> None:
    seen = Seen()
    reports = reports_of("no file", seen)
    reports.receive(BatchReport(4))
    reports.observe(4, {"latestOffset": 2, "triggerExecution": 6})
    assert seen.batches == []
    reports.observe(4, {"latestOffset": 2, "addBatch": 300, "triggerExecution": 350})
    assert [(each.batch_id, each.duration_ms) for each in seen.batches] == [(4, 350)]


def test_a_micro_batch_is_open_from_its_plan_to_its_commit(tmp_path: Path) -> None:
    planned = str(tmp_path / "planned")
    reports = reports_of(planned, Seen())
    assert not reports.has_open_batch()
    for epoch in (1, 2):
        PlannedBatch(1.0, {}, epoch).write(planned)
        assert reports.has_open_batch()
        reports.receive(BatchReport(epoch - 1))
        assert not reports.has_open_batch()
    PlannedBatch(1.0, {}, 1).write(planned)  # another generation of the checkpoint
    assert reports.has_open_batch()
    Path(planned).unlink()  # as at the end of the job
    assert not reports.has_open_batch()
