"""Where operators with several inputs run, and how each input's records get there."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common._output_tag import OutputTag
from headrace.common.configuration import Configuration
from headrace.datastream import DataStream, ProcessFunction, StreamExecutionEnvironment
from headrace.errors import PlanError
from headrace.graph.stream_graph import StreamGraph
from headrace.planner.explain import explain_text
from headrace.planner.plan import PlanOptions, plan
from headrace.runtime.program import JobProgram
from headrace.runtime.user_function import UserFunction
from headrace.testing import run_pipeline
from tests.operators.comap import CoMapSpec
from tests.operators.connecting import connected
from tests.operators.enrich import EnrichSpec
from tests.operators.test_enrich import STRATEGY, join

ODD = OutputTag("odd")


class Split(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield (ODD, value) if value % 2 else value


def comap() -> CoMapSpec:
    return CoMapSpec(
        UserFunction(lambda value, seen, times: ("first", value)),
        UserFunction(lambda value, seen, times: ("second", value)),
    )


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment(Configuration.from_dict({"parallelism.default": "2"}))


def planned(stream: DataStream) -> JobProgram:
    stream.print()
    return plan(StreamGraph.of(stream._env._list_sinks()), PlanOptions("job", 2, 16))


def places(program: JobProgram) -> list[str]:
    """The chains that the operator is part of, by their roots."""
    chains = [source.chain for source in program.sources]
    chains += [vertex.chain for stage in program.stages for vertex in stage]
    return [
        chain.nodes[chain.root].name
        for chain in chains
        if any(
            node.spec is not None and node.spec.traits.inputs > 1 for node in chain.nodes.values()
        )
    ]


def modes(program: JobProgram) -> list[tuple[int, str]]:
    chains = [source.chain for source in program.sources]
    chains += [vertex.chain for stage in program.stages for vertex in stage]
    return sorted((e.input, e.mode) for chain in chains for e in chain.exchanges)


def numbers(env: StreamExecutionEnvironment, name: str = "numbers") -> DataStream:
    return env.from_collection([1, 2, 3, 4]).name(name)


FIRST = [("first", n) for n in (1, 2, 3, 4)]
SECOND = [("second", n) for n in (1, 2, 3, 4)]


def test_inputs_of_one_chain_stay_in_it() -> None:
    source = numbers(environment())
    stream = connected(comap(), source.map(lambda v: v), source.filter(lambda v: True))
    program = planned(stream)
    assert places(program) == ["numbers"]
    assert modes(program) == []
    assert sorted(run_pipeline(stream).only) == FIRST + SECOND


def test_a_stream_connected_to_itself() -> None:
    source = numbers(environment())
    stream = connected(comap(), source, source)
    assert places(planned(stream)) == ["numbers"]
    results = run_pipeline(stream).only
    assert sorted(results) == FIRST + SECOND
    assert results[:2] == [("first", 1), ("second", 1)]


def test_both_outputs_of_one_operator() -> None:
    split = numbers(environment()).process(Split())
    stream = connected(comap(), split, split.get_side_output(ODD))
    assert places(planned(stream)) == ["numbers"]
    assert sorted(run_pipeline(stream).only) == [FIRST[1], FIRST[3], SECOND[0], SECOND[2]]


def test_inputs_of_two_chains_meet_in_a_vertex() -> None:
    env = environment()
    stream = connected(comap(), numbers(env, "left"), numbers(env, "right"))
    program = planned(stream)
    assert places(program) == ["CoMap"]
    assert modes(program) == [(0, "forward"), (1, "forward")]
    assert sorted(run_pipeline(stream).only) == FIRST + SECOND


def test_an_exchange_on_one_side_takes_the_other_along() -> None:
    source = numbers(environment())
    stream = connected(comap(), source.rebalance(), source.map(lambda v: v))
    program = planned(stream)
    assert places(program) == ["CoMap"]
    assert modes(program) == [(0, "round-robin"), (1, "forward")]
    assert sorted(run_pipeline(stream).only) == FIRST + SECOND


def test_an_operator_with_two_inputs_is_not_put_into_two_chains() -> None:
    """A map after a union is put into both; what both of it and of the union feed is not."""
    env = environment()
    union = numbers(env, "left").union(numbers(env, "right"))
    stream = connected(comap(), union.map(lambda v: v), union)
    program = planned(stream)
    assert places(program) == ["CoMap"]
    assert modes(program) == [(0, "forward")] * 2 + [(1, "forward")] * 2
    assert sorted(run_pipeline(stream).only) == sorted(2 * (FIRST + SECOND))
    # what follows stays in its chain
    assert len(program.stages) == 1


def test_what_follows_a_vertex_of_two_inputs_may_have_two_again() -> None:
    env = environment()
    one = connected(comap(), numbers(env, "left"), numbers(env, "right"))
    stream = connected(comap(), one, one.map(lambda v: v))
    assert places(planned(stream)) == ["CoMap"]
    assert len(run_pipeline(stream).only) == 16


def timed(env: StreamExecutionEnvironment, name: str = "pairs") -> DataStream:
    pairs = env.from_collection([("a", "b", 1), ("b", "a", 2), ("a", "a", 3)]).name(name)
    return pairs.assign_timestamps_and_watermarks(STRATEGY).name(f"timed {name}")


def test_two_keys_of_one_stream() -> None:
    stream = timed(environment())
    joined = connected(
        EnrichSpec(UserFunction(join)),
        stream.key_by(lambda pair: pair[0]),
        stream.key_by(lambda pair: pair[1]),
    )
    program = planned(joined)
    assert modes(program) == [(0, "key"), (1, "key")]
    (stage,) = program.stages
    (vertex,) = stage
    assert sorted(vertex.inputs.values()) == [0, 1]
    assert {e.groups for e in program.sources[0].chain.exchanges} == {16}
    found = run_pipeline(joined, key_groups=5)
    assert sorted(found.only) == [
        ("a", "a", 3, "a", 0),
        ("a", "b", 1, None, 0),
        ("b", "a", 2, "b", 1),
    ]


def test_an_input_without_a_key() -> None:
    stream = timed(environment())
    joined = connected(EnrichSpec(UserFunction(join)), stream.key_by(lambda pair: pair[0]), stream)
    with pytest.raises(PlanError, match="not each of its inputs has a key") as failure:
        planned(joined)
    assert "input 1" in str(failure.value)
    assert "timed pairs" in str(failure.value)


def test_a_missing_input() -> None:
    stream = connected(comap(), numbers(environment()))
    with pytest.raises(PlanError, match="has 2 inputs"):
        planned(stream)


def test_swapped_inputs_are_another_operator() -> None:
    def id_of(swapped: bool) -> str:
        env = environment()
        streams = timed(env, "one"), timed(env, "other")
        streams = streams[::-1] if swapped else streams
        keyed = [stream.key_by(lambda pair: pair[0]) for stream in streams]
        (stage,) = planned(connected(EnrichSpec(UserFunction(join)), *keyed)).stages
        return stage[0].id

    assert id_of(False) == id_of(False)
    assert id_of(False) != id_of(True)


def test_a_long_row_of_exchanges_is_planned() -> None:
    stream = numbers(environment())
    for _ in range(600):
        stream = stream.rebalance().map(lambda v: v)
    program = planned(stream)
    assert len(program.stages) == 600
    assert [vertex.number for stage in program.stages for vertex in stage] == [*range(600)]
    assert explain_text(program).count("REBALANCE exchange") == 600
    assert stream.explain().count("REBALANCE exchange") == 600
