"""What a checkpoint knows a job by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.common import WatermarkStrategy
from headrace.datastream import (
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    StreamExecutionEnvironment,
)
from headrace.graph.stream_graph import StreamGraph
from headrace.planner.plan import PlanOptions, plan


class Sum(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


class Count(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


class Rate(MapFunction):
    def __init__(self, factor: int = 1) -> None:
        self.factor = factor

    def map(self, value: Any) -> Any:
        return value


def fingerprint(build: Callable[[DataStream], DataStream]) -> str:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = build(env.from_collection([("a", 1)]))
    stream.print()
    return plan(StreamGraph.of(env._sinks()), PlanOptions("job", 2)).fingerprint


def timed(stream: DataStream) -> DataStream:
    return stream.assign_timestamps_and_watermarks(WatermarkStrategy.for_monotonous_timestamps())


def both(first: KeyedProcessFunction, second: KeyedProcessFunction) -> Any:
    def build(stream: DataStream) -> DataStream:
        keyed = stream.key_by(lambda value: value[0])
        return keyed.process(first).union(keyed.process(second))

    return build


DIFFERENT: dict[str, tuple[Any, Any]] = {
    "an operator more in front of one with a state of its own": (
        timed,
        lambda stream: timed(stream.map(Rate())),
    ),
    "another operator inside a chain": (
        lambda stream: timed(stream.map(Rate())),
        lambda stream: timed(stream.filter(len)),
    ),
    "another function": (lambda s: s.map(Rate()), lambda s: s.map(str)),
    "two functions that change places": (both(Sum(), Count()), both(Count(), Sum())),
    "another uid": (lambda s: s.map(str).uid("a"), lambda s: s.map(str).uid("b")),
}

SAME: dict[str, tuple[Any, Any]] = {
    "another body": (
        lambda stream: stream.map(lambda value: value),
        lambda stream: stream.map(lambda value: (value, 1)),
    ),
    "another object of the class": (lambda s: s.map(Rate(1)), lambda s: s.map(Rate(2))),
    "another function under one uid": (
        lambda stream: stream.map(Rate()).uid("a"),
        lambda stream: stream.map(str).uid("a").name("other"),
    ),
}


@pytest.mark.parametrize("change", DIFFERENT)
def test_a_job_of_another_shape_has_another_fingerprint(change: str) -> None:
    before, after = DIFFERENT[change]
    assert fingerprint(before) != fingerprint(after)


@pytest.mark.parametrize("change", SAME)
def test_what_functions_do_may_change(change: str) -> None:
    before, after = SAME[change]
    assert fingerprint(before) == fingerprint(after)
