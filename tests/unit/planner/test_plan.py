"""What the planner finds out about a source."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import Duration, WatermarkStrategy
from headrace.common._watermark_generators import BoundedOutOfOrderness, WatermarkOutput
from headrace.datastream import StreamExecutionEnvironment
from headrace.graph.stream_graph import StreamGraph
from headrace.planner.plan import PlanOptions, plan


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
