"""Functions of all records of a partition, and other names that Flink has in Java alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from headrace.datastream import (
    AggregateFunction,
    DataStream,
    MapPartitionFunction,
    Order,
    StreamExecutionEnvironment,
)
from headrace.errors import WrongFunctionError
from headrace.testing import run_pipeline

PAIRS = [("a", 3), ("b", 2), ("a", 1), ("b", 5), ("a", 8)]


def results(stream: DataStream, **how: Any) -> list[Any]:
    return run_pipeline({"results": stream}, **how)["results"]


def stream() -> DataStream:
    return StreamExecutionEnvironment.get_execution_environment().from_data(*PAIRS)


def key(pair: tuple[str, int]) -> str:
    return pair[0]


class Opened(MapPartitionFunction):
    def open(self, runtime_context: Any) -> None:
        self.opened = True

    def map_partition(self, values: Iterable[Any]) -> Iterator[Any]:
        assert self.opened
        numbers = [number for _, number in values]
        yield numbers
        yield sum(numbers)


class Sum(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: tuple[str, int], accumulator: int) -> int:
        return accumulator + value[1]

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


HOWS: list[dict[str, Any]] = [
    {},
    {"cuts": [1, 2], "backends": "paged", "restarts": True},
    {"mode": "batch"},
]


@pytest.mark.parametrize("how", HOWS, ids=["whole", "cut", "batch"])
def test_of_all_records(how: dict[str, Any]) -> None:
    assert results(stream().full_window_partition().map_partition(Opened()), **how) == [
        [3, 2, 1, 5, 8],
        19,
    ]
    assert results(stream().full_window_partition().aggregate(Sum()), **how) == [19]
    ordered = stream().full_window_partition().sort_partition(1, Order.DESCENDING)
    assert [number for _, number in results(ordered, **how)] == [8, 5, 3, 2, 1]


@pytest.mark.parametrize("how", HOWS, ids=["whole", "cut", "batch"])
def test_of_each_key(how: dict[str, Any]) -> None:
    keyed = stream().key_by(key)
    found = results(keyed.full_window_partition().map_partition(lambda pairs: [[*pairs]]), **how)
    assert sorted(found) == [[("a", 3), ("a", 1), ("a", 8)], [("b", 2), ("b", 5)]]
    summed = keyed.full_window_partition().reduce(lambda one, two: (one[0], one[1] + two[1]))
    assert sorted(results(summed, **how)) == [("a", 12), ("b", 7)]
    ordered = results(keyed.full_window_partition().sort_partition(lambda pair: -pair[1]), **how)
    assert [pair for pair in ordered if pair[0] == "a"] == [("a", 8), ("a", 3), ("a", 1)]


def test_wrong_functions_are_refused() -> None:
    with pytest.raises(WrongFunctionError, match="MapPartitionFunction"):
        stream().full_window_partition().map_partition(Sum())  # type: ignore[arg-type]


def test_global_and_print_to_err(capsys: pytest.CaptureFixture[str]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env._configuration.set_string("execution.target", "local")
    env.set_parallelism(3)
    env.from_data(*"abc").global_().map(str.upper).print_to_err("at")
    env.execute()
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = [line for line in captured.err.splitlines() if line.startswith("at")]
    assert lines == ["at:1> A", "at:1> B", "at:1> C"]
