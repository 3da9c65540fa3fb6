"""Which results the operators of a program emit: the planner says so, by the program's mode."""

from __future__ import annotations

import pytest

from headrace.common import WatermarkStrategy
from headrace.common.watermark_strategy import MAX_WATERMARK
from headrace.datastream import StreamExecutionEnvironment
from headrace.graph.stream_graph import StreamGraph
from headrace.operators.reduce import ReduceSpec
from headrace.operators.timestamps import TimestampsSpec
from headrace.planner.explain import explain_text
from headrace.planner.plan import PlanOptions, plan
from headrace.runtime.program import JobProgram
from headrace.runtime.user_function import UserFunction
from headrace.testing import KeyedHarness, ProcessHarness

LARGEST = ReduceSpec(UserFunction(max))
BY_VALUE = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
    lambda value: value
)


def planned(batch: bool) -> JobProgram:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([1, 2]).assign_timestamps_and_watermarks(BY_VALUE)
    stream.key_by(lambda value: value % 2).reduce(max).map(str).print()
    graph = StreamGraph.of(env._list_sinks())
    return plan(graph, PlanOptions("job", 1, batch=batch))


def emitting(program: JobProgram) -> dict[str, str | None]:
    chains = [source.chain for source in program.sources]
    chains += [vertex.chain for stage in program.stages for vertex in stage]
    nodes = [node for chain in chains for node in chain.nodes.values()]
    return {node.spec.kind: node.spec.emits for node in nodes if node.spec is not None}


def test_a_stream_emits_each_result_and_a_batch_the_last_ones() -> None:
    assert emitting(planned(batch=False)) == {"timestamps": "each", "reduce": "each", "map": None}
    found = emitting(planned(batch=True))
    assert {kind: found[kind] for kind in ("timestamps", "reduce", "map")} == {
        "timestamps": "last",
        "reduce": "last",
        "map": None,
    }


def test_the_plan_says_who_emits_only_last_results() -> None:
    lines = [line for line in explain_text(planned(batch=True)).splitlines() if "emits" in line]
    assert [line.strip() for line in lines] == [
        "Timestamps/Watermarks  {watermarks, emits last results}",
        "Reduce  {keyed state, emits last results}",
    ]
    assert "emits" not in explain_text(planned(batch=False))


@pytest.mark.parametrize("batch", [False, True])
def test_a_reduction_that_emits_last_results_is_silent_until_the_end(batch: bool) -> None:
    """It goes by its spec, and does not know in which mode it runs."""
    with KeyedHarness(LARGEST.with_final_results(), lambda value: "k", batch=batch) as task:
        task.process(3)
        task.process(5)
        assert task.output() == []
        task.end_input()
        assert task.output() == ([5] if batch else [])  # only a batch has an end for operators


def test_timestamps_that_emit_last_results_pass_only_the_end() -> None:
    with ProcessHarness(TimestampsSpec(BY_VALUE, "last")) as task:
        task.process(3)
        assert task.output_with_timestamps() == [(3, 3)]
        assert task.watermarks() == []
        task.end_input()
        assert task.watermarks() == [MAX_WATERMARK]


def test_a_spec_without_a_choice_stays_itself() -> None:
    (vertex,) = planned(batch=False).stages[0]
    spec = next(node.spec for node in vertex.chain.nodes.values() if node.name == "Map")
    assert spec is not None and spec.with_final_results() is spec
