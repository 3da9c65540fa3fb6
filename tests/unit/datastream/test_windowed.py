"""Windowed streams as programs see them, by the local runner."""

from __future__ import annotations

from typing import Any

from headrace.common.time import Duration, Time
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import (
    AggregateFunction,
    DataStream,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.testing import run_pipeline

RECORDS = [("a", 1, 1_000), ("b", 2, 1_500), ("a", 3, 2_999), ("a", 5, 3_000), ("b", 8, 4_000)]
TUMBLING = TumblingEventTimeWindows.of(Time.seconds(3))


def timed(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
    return env.from_collection(RECORDS).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda record: record[2])
    )


class Sum(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + int(value[1])

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Described(ProcessWindowFunction[Any, Any, str, Any]):
    def process(self, key: str, context: Any, elements: Any) -> Any:
        yield key, str(context.window()), list(elements)


def test_reduce() -> None:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        windows = timed(env).key_by(lambda record: record[0]).window(TUMBLING)
        return windows.reduce(lambda one, other: (one[0], one[1] + other[1], other[2]))

    expected = [("a", 4, 2_999), ("a", 5, 3_000), ("b", 2, 1_500), ("b", 8, 4_000)]
    for how in [{}, {"mode": "batch"}, {"cuts": [1] * 9, "backends": "paged", "restarts": True}]:
        assert sorted(run_pipeline(program, **how).only) == expected  # type: ignore[arg-type]


def test_aggregate_and_a_window_function() -> None:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        keyed = timed(env).key_by(lambda record: record[0])
        return keyed.window(TUMBLING).aggregate(Sum(), Described())

    assert sorted(run_pipeline(program).only) == [
        ("a", "TimeWindow(start=0, end=3000)", [4]),
        ("a", "TimeWindow(start=3000, end=6000)", [5]),
        ("b", "TimeWindow(start=0, end=3000)", [2]),
        ("b", "TimeWindow(start=3000, end=6000)", [8]),
    ]


def test_process() -> None:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        return timed(env).key_by(lambda record: record[0]).window(TUMBLING).process(Described())

    found = run_pipeline(program, cuts=[2, 1], key_groups=5, parallelism=2).only
    assert sorted(found)[0] == (
        "a",
        "TimeWindow(start=0, end=3000)",
        [("a", 1, 1_000), ("a", 3, 2_999)],
    )
