"""What the planner finds out about a source, and about a job."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headrace.common import Duration, WatermarkStrategy
from headrace.common._watermark_generators import BoundedOutOfOrderness, WatermarkOutput
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors._dataframe_source import DataFrameSource
from headrace.graph.stream_graph import StreamGraph
from headrace.planner.explain import explain_text
from headrace.planner.plan import PlanOptions, plan
from headrace.runtime.program import JobProgram


class Adaptive(BoundedOutOfOrderness):
    """Bounds as the records before were out of order: it must see them all, in order."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        if self.max_timestamp is not None:
            self.bound_ms = max(self.bound_ms, self.max_timestamp - event_timestamp)
        super().on_event(event, event_timestamp, output)


@pytest.mark.parametrize(
    ("strategy", "one_task"),
    [
        (WatermarkStrategy.for_monotonous_timestamps(), False),
        (WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5)), False),
        (WatermarkStrategy.no_watermarks(), False),
        (WatermarkStrategy.for_generator(lambda: Adaptive(5)), True),
    ],
)
def test_a_split_is_cut_only_where_the_highest_timestamp_is_all_that_counts(
    strategy: WatermarkStrategy, one_task: bool
) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).assign_timestamps_and_watermarks(strategy).print()
    (source,) = plan(StreamGraph.of(env._list_sinks()), PlanOptions("job", 2)).sources
    assert source.one_task_per_split is one_task


def keyed(parallelism: int, **options: Any) -> JobProgram:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).key_by(lambda n: n).sum().print()
    return plan(StreamGraph.of(env._list_sinks()), PlanOptions("job", parallelism, **options))


def test_a_job_with_one_partition_is_one_task_and_says_so() -> None:
    assert keyed(1).is_one_task
    assert "one task for all stages" in explain_text(keyed(1))


@pytest.mark.parametrize(
    "program",
    [
        keyed(2),
        keyed(1, batch=True),
        replace(keyed(1), partitions=2),  # of its checkpoint
    ],
)
def test_other_jobs_are_several_tasks(program: JobProgram) -> None:
    assert not program.is_one_task
    assert "one task" not in explain_text(program)


def test_a_dataframe_is_read_in_the_tasks_that_spark_chooses() -> None:
    program = keyed(1)
    frame = replace(program.sources[0], source=DataFrameSource.__new__(DataFrameSource))
    assert not replace(program, sources=(frame,)).is_one_task
