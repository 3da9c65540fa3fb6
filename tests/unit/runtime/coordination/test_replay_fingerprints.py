"""By which changes of a program records reach a sink that commits by task in other partitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.common import Configuration, WatermarkStrategy
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.graph.stream_graph import StreamGraph
from headrace.runners.launch import program_of
from headrace.runtime.coordination.replay_fingerprints import FOR_WATERMARKS, replay_fingerprints
from tests.connectors.sqlite_log import SqliteLogSink, SqliteLogSource

Env = StreamExecutionEnvironment
Build = Callable[[Env], DataStream]


def route(build: Build, known: set[str] | None = None, **settings: str) -> str:
    keys = {key.replace("_", "."): value for key, value in settings.items()}
    env = Env(Configuration.from_dict({"parallelism.default": "2", **keys}))
    build(env).sink_to(SqliteLogSink("out")).uid("log")
    program = program_of(StreamGraph.of(env._take_sinks()), env._configuration, "job")
    return replay_fingerprints(program, known)["log"]


def log(env: Env, uid: str = "in") -> DataStream:
    source = SqliteLogSource(f"{uid}.db")
    return env.from_source(source, WatermarkStrategy.no_watermarks(), uid).uid(uid)


def same(value: Any) -> Any:
    return value


def sums(stream: DataStream) -> DataStream:
    return stream.key_by(same).sum().uid("sums")


def dealt(stream: DataStream) -> DataStream:
    return stream.rebalance().map(same).name("dealt")


def parted(stream: DataStream) -> DataStream:
    return stream.partition_custom(lambda key, count: key % count, same).map(same)


HARMLESS: dict[str, tuple[Build, Build]] = {
    "a step before a source's end": (log, lambda env: log(env).filter(same)),
    "a step before a key": (
        lambda env: sums(log(env)),
        lambda env: sums(log(env).flat_map(same)).map(same),
    ),
    "a side of the program": (
        lambda env: sums(log(env)),
        lambda env: (sums(dealt(log(env, "more"))).uid("other").print(), sums(log(env)))[1],
    ),
    "a name after a partitioner": (
        lambda env: parted(log(env)),
        lambda env: parted(log(env)).name("renamed"),
    ),
}

HARMFUL: dict[str, tuple[Build, Build]] = {
    "an exchange": (log, lambda env: dealt(log(env))),
    "an exchange before a key": (lambda env: sums(log(env)), lambda env: sums(dealt(log(env)))),
    "a step before records are dealt": (
        lambda env: dealt(log(env)),
        lambda env: dealt(log(env).filter(same)),
    ),
    "a parallelism after a rebalance": (
        lambda env: dealt(log(env)),
        lambda env: dealt(log(env)).set_parallelism(5),
    ),
    "a name after a rebalance": (  # its receivers get every split's announcement once more
        lambda env: dealt(log(env)),
        lambda env: dealt(log(env)).name("renamed"),
    ),
    "the sink of another stream": (
        lambda env: (log(env), sums(log(env, "more")))[1],
        lambda env: (sums(log(env, "more")), log(env))[1],
    ),
    "the order of sources": (
        lambda env: log(env, "a").union(log(env, "b")),
        lambda env: log(env, "b").union(log(env, "a")),
    ),
    "an operator with state": (
        lambda env: sums(log(env)),
        lambda env: sums(log(env).key_by(same).sum().uid("before")),
    ),
    "a source that is dealt out beside another": (
        lambda env: dealt(log(env)),
        lambda env: dealt(log(env).union(log(env, "more"))),
    ),
}


@pytest.mark.parametrize("change", HARMLESS)
def test_a_route_stays(change: str) -> None:
    before, after = HARMLESS[change]
    assert route(after, known={"in"}) == route(before)


@pytest.mark.parametrize("change", HARMFUL)
def test_a_route_changes(change: str) -> None:
    before, after = HARMFUL[change]
    known = {"a", "b", "in", "more"} if "other" in change or "order" in change else {"in"}
    assert route(after, known) != route(before)


def test_a_source_that_is_new_has_nothing_in_the_micro_batch() -> None:
    def with_another(env: Env) -> DataStream:
        return sums(log(env, "more").union(log(env)))

    before = route(lambda env: sums(log(env)))
    assert route(with_another, known={"in"}) == before != route(with_another)


def test_keys_do_not_ask_for_the_parallelism() -> None:
    def summed(env: Env) -> DataStream:
        return sums(log(env))

    assert route(summed, parallelism_default="5") == route(summed)


def test_of_sinks_that_commit_by_the_driver_nothing_is_asked() -> None:
    env = Env(Configuration())
    log(env).print()
    assert (
        replay_fingerprints(
            program_of(StreamGraph.of(env._take_sinks()), env._configuration, "job")
        )
        == {}
    )


TIMES = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(same)


def timed(env: Env, unchained: bool = False, spread: bool = False) -> None:
    if unchained:
        env.disable_operator_chaining()
    stream = log(env)
    stream = dealt(stream) if spread else stream
    sums(stream.assign_timestamps_and_watermarks(TIMES)).print()


def test_where_watermarks_are_made_after_an_exchange_their_tasks_count() -> None:
    def time_route(parallelism: str = "2", **how: bool) -> str | None:
        env = Env(Configuration.from_dict({"parallelism.default": parallelism}))
        timed(env, **how)
        program = program_of(StreamGraph.of(env._take_sinks()), env._configuration, "job")
        return replay_fingerprints(program).get(FOR_WATERMARKS)

    assert time_route() is time_route(parallelism="3") is None
    after = [
        time_route(unchained=True),
        time_route(unchained=True, parallelism="3"),
        time_route(spread=True),
        time_route(spread=True, parallelism="3"),
    ]
    assert len({*after, None}) == 5
    assert time_route(spread=True) == after[2]
