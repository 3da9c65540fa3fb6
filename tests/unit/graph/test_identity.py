"""What the parts of a program are called, in this version of it and in the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.common import WatermarkStrategy
from headrace.datastream import (
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from headrace.graph.identity import Identities, identities
from headrace.graph.stream_graph import StreamGraph
from headrace.planner.plan import PlanOptions, plan

ASIDE = OutputTag("aside")


class Sum(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


class Count(Sum):
    pass


class Split(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


def first(value: Any) -> Any:
    return value[0]


Build = Callable[[DataStream], DataStream]


def built(build: Callable[[StreamExecutionEnvironment], Any]) -> tuple[StreamGraph, Identities]:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env)
    graph = StreamGraph.of(env._list_sinks())
    return graph, identities(graph.nodes)


def stateful(build: Build) -> list[str]:
    """The ids of the operators with state, in the order of the program."""
    graph, ids = built(lambda env: build(env.from_collection([("a", 1)])).print())
    return [ids.nodes[node] for node in graph.nodes if node.spec and node.spec.traits.keeps_state]


def two_sums(stream: DataStream) -> DataStream:
    return stream.key_by(first).process(Sum()).key_by(first).sum(1)


TIMES = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(first)

CHANGES: dict[str, Build] = {
    "a step before": lambda s: two_sums(s.map(lambda v: v)),
    "a step before, renamed": lambda s: two_sums(s.map(lambda v: v).name("other")),
    "time before": lambda s: two_sums(s.assign_timestamps_and_watermarks(TIMES)),
    "a step between": lambda s: (
        s.key_by(first).process(Sum()).filter(lambda v: True).key_by(first).sum(1)
    ),
    "a step after": lambda s: two_sums(s).flat_map(lambda v: [v]),
    "spread before": lambda s: two_sums(s.rebalance().map(lambda v: v)),
    "chained otherwise": lambda s: two_sums(s.map(lambda v: v).start_new_chain()),
    "another key": lambda s: s.key_by(str).process(Sum()).key_by(first).sum(1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_that_leaves_the_state_its_meaning_leaves_the_ids(change: str) -> None:
    assert stateful(CHANGES[change]) == stateful(two_sums)


def test_a_program_elsewhere_changes_nothing() -> None:
    def with_another(env: StreamExecutionEnvironment) -> None:
        env.from_sequence(1, 2).key_by(lambda v: v).process(Count()).print()
        two_sums(env.from_collection([("a", 1)])).print()

    graph, ids = built(with_another)
    found = [ids.nodes[node] for node in graph.nodes if node.spec and node.spec.traits.keeps_state]
    assert found[1:] == stateful(two_sums)
    assert len({*found}) == 3


def test_the_order_of_sinks_and_of_a_union_leaves_the_ids_of_operators_that_look_alike() -> None:
    """They differ in their keys only, so they are numbered in the order of creation."""

    def made(env: StreamExecutionEnvironment, swapped: bool) -> None:
        pairs = env.from_collection([("a", "b")])
        one = pairs.key_by(first).process(Sum())
        other = pairs.key_by(str).process(Sum())
        streams = [other, one] if swapped else [one, other]
        for stream in streams:
            stream.print()
        streams[0].union(streams[1]).key_by(first).sum(0).print()

    def sums(swapped: bool) -> list[str]:
        graph, ids = built(lambda env: made(env, swapped))
        alike = [node for node in graph.nodes if node.spec and node.spec.traits.keeps_state]
        return [ids.nodes[node] for node in sorted(alike, key=lambda node: node.id)]

    assert len({*sums(False)}) == 3
    assert sums(True) == sums(False)


OTHERS: dict[str, tuple[Build, Build]] = {
    "the function": (
        lambda s: s.key_by(first).process(Sum()),
        lambda s: s.key_by(first).process(Count()),
    ),
    "the name": (
        lambda s: s.key_by(first).process(Sum()),
        lambda s: s.key_by(first).process(Sum()).name("totals"),
    ),
    "the kind": (
        lambda s: s.key_by(first).reduce(lambda a, b: a),
        lambda s: s.key_by(first).process(Sum()),
    ),
    "a stateful operator upstream": (
        lambda s: s.key_by(first).process(Sum()),
        lambda s: s.key_by(first).process(Count()).key_by(first).process(Sum()),
    ),
    "the output that it reads": (
        lambda s: s.process(Split()).key_by(first).process(Sum()),
        lambda s: s.process(Split()).get_side_output(ASIDE).key_by(first).process(Sum()),
    ),
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_makes_another_operator_of_it(what: str) -> None:
    one, other = OTHERS[what]
    assert stateful(one)[-1] != stateful(other)[-1]


def test_a_uid_holds_whatever_else_changes() -> None:
    before = stateful(lambda s: s.key_by(first).process(Sum()).uid("sums"))
    after = stateful(lambda s: s.key_by(first).process(Count()).uid("sums").name("other"))
    assert before == after == ["sums"]


def test_what_nothing_tells_apart_is_numbered() -> None:
    def both(stream: DataStream) -> DataStream:
        keyed = stream.key_by(first)
        return keyed.process(Sum()).union(keyed.process(Sum()))

    one, other = stateful(both)
    assert other == f"{one}~2"


def test_a_uid_like_a_generated_id_takes_nothing_away() -> None:
    (generated,) = stateful(lambda s: s.key_by(first).process(Sum()))

    def taken(stream: DataStream) -> DataStream:
        keyed = stream.key_by(first)
        return keyed.process(Count()).uid(generated).union(keyed.process(Sum()))

    assert stateful(taken) == [generated, f"{generated}~2"]


def exchanges(before: Build) -> list[str]:
    """The ids of the exchanges that lead to one operator."""
    env = StreamExecutionEnvironment.get_execution_environment()
    left = before(env.from_collection([("a", 1)]))
    left.union(env.from_sequence(0, 3)).key_by(first).process(Sum()).uid("sums").print()
    program = plan(StreamGraph.of(env._list_sinks()), PlanOptions("job", 2))
    chains = [source.chain for source in program.sources]
    chains += [vertex.chain for stage in program.stages for vertex in stage]
    return [e.id for chain in chains for e in chain.exchanges if e.target == "sums"]


def test_exchanges_are_known_by_what_they_connect() -> None:
    plain = exchanges(lambda s: s)
    assert len({*plain}) == 2
    assert sorted(exchanges(lambda s: s.map(str).filter(bool))) == sorted(plain)
    other = exchanges(lambda s: s.key_by(first).process(Count()))
    assert len({*other} & {*plain}) == 1


def test_one_edge_that_leaves_two_tasks_is_two_exchanges() -> None:
    """A step after a union is chained to each of its inputs."""
    found = exchanges(lambda s: s.union(s.rebalance().map(str)).map(str))
    assert len(found) == len({*found}) == 3
