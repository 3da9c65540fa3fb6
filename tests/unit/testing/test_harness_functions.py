"""What a harness can run, and how it treats a function."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from headrace.common import Row
from headrace.common.watermark_strategy import (
    MIN_WATERMARK,
)
from headrace.datastream import (
    FilterFunction,
    FlatMapFunction,
    KeySelector,
    MapFunction,
)
from headrace.errors import (
    NotKeyedError,
    PlanError,
    UnpicklableFunctionError,
    UnstableKeyError,
)
from headrace.operators.map import MapSpec
from headrace.operators.reduce import ReduceSpec
from headrace.runtime.user_function import UserFunction
from headrace.testing import KeyedHarness, ProcessHarness
from tests.unit.testing.functions import Larger, Ledger, ReportsTime


@pytest.fixture(params=["heap", "paged"])
def ledger(request: pytest.FixtureRequest) -> KeyedHarness:
    return KeyedHarness(Ledger(), key_by=0, backend=request.param)


class Doubling(MapFunction):
    def map(self, value: Any) -> Any:
        return value * 2


class Twice(FlatMapFunction):
    def flat_map(self, value: Any) -> Any:
        return [value, value]


class Even(FilterFunction):
    def filter(self, value: Any) -> bool:
        return bool(value % 2 == 0)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (Doubling(), [2, 4]),
        (Twice(), [1, 1, 2, 2]),
        (Even(), [2]),
        (MapSpec(UserFunction(str)), ["1", "2"]),
    ],
    ids=["map", "flat map", "filter", "spec"],
)
def test_functions_without_a_key(function: Any, expected: list[Any]) -> None:
    harness = ProcessHarness(function)
    harness.process(1)
    harness.process(2)
    assert harness.output() == expected


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (Doubling(), [2, 4]),
        (Twice(), [1, 1, 2, 2]),
        (Even(), [2]),
        (Larger(), [1, 2]),
        (
            ReportsTime(),
            [(1, MIN_WATERMARK, MIN_WATERMARK, 0), (2, MIN_WATERMARK, MIN_WATERMARK, 0)],
        ),
        (ReduceSpec(UserFunction(min)), [1, 1]),
    ],
    ids=["map", "flat map", "filter", "reduce", "process", "spec"],
)
def test_functions_with_a_key(function: Any, expected: list[Any]) -> None:
    harness = KeyedHarness(function, key_by=lambda value: "all")
    harness.process(1)
    harness.process(2)
    assert harness.output() == expected


@pytest.mark.parametrize("function", [Ledger(), Larger(), ReduceSpec(UserFunction(max))])
def test_what_needs_a_key_says_so(function: Any) -> None:
    with pytest.raises(NotKeyedError, match=r"needs a keyed stream\n.*KeyedHarness"):
        ProcessHarness(function)


def test_what_cannot_be_tested_says_what_to_do() -> None:
    with pytest.raises(PlanError, match="ProcessHarness"):
        KeyedHarness(MapSpec(UserFunction(str)), key_by=0)
    with pytest.raises(PlanError, match=r"MapSpec\(UserFunction\(f\)\)"):
        ProcessHarness(str)
    with pytest.raises(PlanError, match=r"key_by\(\) takes"):
        KeyedHarness(Ledger(), key_by=3.5)  # type: ignore[arg-type]


def test_a_function_that_cannot_be_sent_is_refused() -> None:
    class Holding(Doubling):
        lock = None

    function = Holding()
    function.lock = threading.Lock()  # type: ignore[assignment]
    with pytest.raises(UnpicklableFunctionError, match=r"it holds 'self\.lock'"):
        ProcessHarness(function)


# Keys and life cycle


def test_keys_are_those_of_key_by() -> None:
    row = Row(name="a", amount=1)
    by_name = KeyedHarness(Marking(), key_by="name")
    by_name.process(row)
    by_place = KeyedHarness(Marking(), key_by=1)
    by_place.process(("a", 7))
    assert (by_name.keys(), by_place.keys()) == (["a"], [7])


class Marking(Ledger):
    """Counts under whatever key."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.last.update(1)
        return ()


def test_a_key_selector_is_opened_and_closed() -> None:
    class Selecting(KeySelector):
        def __init__(self) -> None:
            self.calls: list[str] = []

        def open(self, runtime_context: Any) -> None:
            self.calls.append("open")

        def get_key(self, value: Any) -> Any:
            return value[0]

        def close(self) -> None:
            self.calls.append("close")

    selector = Selecting()
    with KeyedHarness(Ledger(), key_by=selector) as harness:
        harness.process(("a", 1))
        assert selector.calls == ["open"]
    harness.close()
    assert selector.calls == ["open", "close"]


def test_an_unstable_key_is_refused() -> None:
    harness = KeyedHarness(Ledger(), key_by=lambda value: lambda: value)
    with pytest.raises(UnstableKeyError):
        harness.process(("a", 1))


def test_the_function_is_opened_and_closed_once() -> None:
    function = Ledger()
    with KeyedHarness(function, key_by=0) as harness:
        harness.process(("a", 1))
        harness.process(("b", 1))
        assert (function.opened, function.closed) == (1, 0)
    harness.close()
    assert (function.opened, function.closed) == (1, 1)


def test_an_exception_tells_key_and_record(ledger: KeyedHarness) -> None:
    with pytest.raises(ValueError, match="many") as raised:
        ledger.process(("a", "many"))
    assert "key:      'a'" in raised.value.__notes__[0]
    assert "record:   ('a', 'many')" in raised.value.__notes__[0]


def test_metrics_can_be_read(ledger: KeyedHarness) -> None:
    ledger.process(("a", 1))
    ledger.process(("a", 1))
    assert ledger.metrics.snapshot()["KeyedProcess.seen"] == 2
