"""A windowed stream's operator in a harness."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.common.time import Duration
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import (
    AggregateFunction,
    DataStream,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.data_stream import KeyedStream
from headrace.runtime.operator import OperatorSpec
from headrace.testing import KeyedHarness

STRATEGY = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(0))


def spec_of(build: Callable[[KeyedStream], DataStream]) -> OperatorSpec:
    """The spec of the operator that ``build`` puts after a keyed stream of (key, number)."""
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([("a", 1)]).assign_timestamps_and_watermarks(STRATEGY)
    node = build(stream.key_by(lambda record: record[0]))._configurable_operator
    assert node is not None and node.spec is not None
    return node.spec


def windowed(build: Callable[[KeyedStream], DataStream], **how: Any) -> KeyedHarness:
    """A harness of that operator."""
    return KeyedHarness(spec_of(build), lambda record: record[0], **how)


class Numbers(ProcessWindowFunction[Any, Any, str, Any]):
    """Key, window and the numbers in it."""

    def process(self, key: str, context: Any, elements: Any) -> Any:
        yield key, context.window(), [number for _, number in elements]


class Total(AggregateFunction):
    """The sum of the numbers, kept in a list that is changed in place."""

    def create_accumulator(self) -> list[int]:
        return [0]

    def add(self, value: Any, accumulator: list[int]) -> list[int]:
        accumulator[0] += value[1]
        return accumulator

    def get_result(self, accumulator: list[int]) -> int:
        return accumulator[0]

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return [acc_a[0] + acc_b[0]]


def plus(one: Any, other: Any) -> Any:
    """Adds numbers, keeps the key."""
    return (one[0], one[1] + other[1])
