"""Instances that have state stay as many as they were."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.functions import CheckpointedFunction, MapFunction
from headrace.graph.stream_graph import StreamGraph
from headrace.planner.kept_subtasks import with_kept_subtasks
from headrace.planner.plan import PlanOptions, plan
from headrace.runtime.layout import Layout, check_layout_change
from headrace.runtime.program import JobProgram


class Counts(MapFunction, CheckpointedFunction):
    def map(self, value: Any) -> Any:
        return value

    def initialize_state(self, context: Any) -> None:
        pass

    def snapshot_state(self, context: Any) -> None:
        pass


def planned(parallelism: int, job_parallelism: int = 2) -> JobProgram:
    """Instances that make watermarks, so their subtasks are channels of what comes after."""
    env = StreamExecutionEnvironment.get_execution_environment()
    counted = env.from_collection([1]).map(Counts()).uid("counts").set_parallelism(parallelism)
    times = WatermarkStrategy.for_monotonous_timestamps()
    timed = counted.assign_timestamps_and_watermarks(times)
    timed.rebalance().map(lambda value: value).key_by(lambda value: value).sum().uid("sum").print()
    return plan(StreamGraph.of(env._list_sinks()), PlanOptions("job", job_parallelism))


@pytest.mark.parametrize("parallelism", [1, 4])
def test_a_program_has_the_instances_of_the_one_before(parallelism: int) -> None:
    before = planned(3)
    parts = Layout.of(before).parts
    kept = {part.id: part.key_groups for part in parts}
    now = with_kept_subtasks(planned(parallelism), kept)
    assert now.fingerprint == before.fingerprint
    vertex = now.vertex("counts")
    assert (vertex.groups, vertex.parallelism) == (3, 3)
    check_layout_change(Layout.of(before), Layout.of(now), ignore_unclaimed=False)


def test_other_operators_follow_the_program() -> None:
    now = planned(2, job_parallelism=3)
    assert with_kept_subtasks(now, {vertex.id: 9 for vertex in now.stages[1]}) is now
    assert with_kept_subtasks(now, {"counts": 2, "gone": 5}) is now
