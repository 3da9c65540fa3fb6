"""Queries of state: what a key's state is, and how much time queries may take."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import Configuration, Row, Types
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.errors import ConfigurationError, QueryBudgetError, StateQueryError, UnsupportedError
from headrace.graph.stream_graph import StreamGraph
from headrace.runners.launch import program_of
from headrace.runtime.program import JobProgram
from headrace.runtime.queries import (
    MAX_KEYS,
    QueryBudget,
    internal_keys,
    keys_from_json,
    queryable_vertex,
    queryable_vertices,
    state_reader,
)
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.kinds import LIST, MAP, VALUE, StateKind
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages


def read_state(backend: StateBackend, name: str, key: Any) -> Any:
    read = state_reader(backend, name)
    assert read is not None
    return read(key)


@pytest.fixture(params=["heap", "pages"])
def backend(request: pytest.FixtureRequest) -> StateBackend:
    if request.param == "heap":
        return HeapBackend(for_pages=True)
    return PagedBackend(MemoryPages(), 1, page_bytes=256)


def test_what_a_key_has_is_read_without_what_only_the_engine_needs(backend: StateBackend) -> None:
    kinds = {
        "value": StateKind(VALUE),
        "list": StateKind(LIST),
        "map": StateKind(MAP),
        "value until": StateKind(VALUE, expires=True),
        "list until": StateKind(LIST, expires=True),
        "map until": StateKind(MAP, expires=True),
    }
    for name, kind in kinds.items():
        backend.declare(name, kind)
    stored = {
        "value": 7,
        "list": [*range(400)],  # more than a page has, so it is stored in chunks
        "map": {f"item {number}": number for number in range(400)},
        "value until": (7, 1000),
        "list until": [(1, 1000), (2, 1001)],
        "map until": {"a": (1, 1000)},
    }
    backend.enter("k").update(stored)
    backend.changed("k")
    backend.flush()
    found = {name: read_state(backend, name, "k") for name in kinds}
    assert found == {
        "value": 7,
        "list": [*range(400)],
        "map": stored["map"],
        "value until": 7,
        "list until": [1, 2],
        "map until": {"a": 1},
    }
    assert [read_state(backend, name, "other") for name in kinds] == [None] * 6
    assert [*backend.keys()] == ["k"]


def test_an_answer_may_be_changed_by_who_asked(backend: StateBackend) -> None:
    backend.declare("value", StateKind(VALUE))
    backend.enter("k")["value"] = {"nested": [1]}
    backend.changed("k")
    backend.flush()
    read_state(backend, "value", "k")["nested"].append(2)
    assert read_state(backend, "value", "k") == {"nested": [1]}


def test_state_of_windows_is_refused(backend: StateBackend) -> None:
    backend.in_namespaces.declare("sum", StateKind(VALUE))
    with pytest.raises(UnsupportedError, match="'sum' is not by key alone"):
        state_reader(backend, "sum")
    assert state_reader(backend, "other") is None


class Counts(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


def program(queryable: str, key_type: Any = None) -> JobProgram:
    configuration = Configuration().set_string("headrace.state.queryable", queryable)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    stream = env.from_collection([(1, "a")])
    keyed = stream.key_by(lambda pair: pair, key_type)
    keyed.process(Counts()).uid("counts").map(str).uid("texts").print()
    return program_of(StreamGraph.of(env._take_sinks()), configuration, "job")


def test_operators_are_named_by_their_uids() -> None:
    found = queryable_vertices(program("counts"))
    assert [*found] == ["counts"]
    with pytest.raises(ConfigurationError, match="'texts' cannot be queried") as refused:
        queryable_vertex(found, "texts")
    assert "queryable are: counts" in str(refused.value)


@pytest.mark.parametrize("uid", ["typo", "texts"])
def test_a_uid_without_keyed_state_is_refused_at_the_start(uid: str) -> None:
    with pytest.raises(ConfigurationError, match=f"no operator with keyed state has.*{uid}"):
        program(f"counts;{uid}")


@pytest.mark.parametrize(
    ("key_type", "expected"),
    [(None, (1, "a")), (Types.ROW([Types.INT(), Types.STRING()]), Row(1, "a"))],
)
def test_arrays_of_json_are_keys(key_type: Any, expected: Any) -> None:
    found = program("counts", key_type)
    keys = keys_from_json(found, queryable_vertices(found)["counts"], [[1, "a"], "b"])
    assert keys == [expected, "b"]
    assert type(keys[0]) is type(expected)


def test_a_query_has_a_limit_of_keys() -> None:
    with pytest.raises(StateQueryError, match=r"has 1,001 keys; it may have 1,000"):
        internal_keys([*range(MAX_KEYS + 1)])


def test_queries_may_use_a_share_of_a_core() -> None:
    now = 10.0
    budget = QueryBudget(0.25, lambda: now)
    used = 0.0
    refused = 0
    for _ in range(10_000):  # for a hundred seconds
        now += 0.01
        try:
            budget.check()
        except QueryBudgetError:
            refused += 1
        else:
            budget.spend(0.01)
            used += 0.01
    assert used == pytest.approx(25, abs=0.5)
    assert refused == 10_000 - round(used / 0.01)
    now += 3600
    budget.check()
    budget.spend(0.3)  # more than a second's share, which is all that an hour of rest leaves
    with pytest.raises(QueryBudgetError, match=r"more than 0\.25 of a core"):
        budget.check()
