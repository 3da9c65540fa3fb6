"""Every function object on a keyed stream may keep keyed state, on every backend, in every mode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headrace.common.time import Time
from headrace.common.watermark_strategy import MAX_WATERMARK
from headrace.datastream import (
    AggregateFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ReduceFunction,
)
from headrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from headrace.errors import PlanError
from headrace.operators.keyed_function import KeyedFilterSpec, KeyedFlatMapSpec, KeyedMapSpec
from headrace.operators.keyed_process import KeyedProcessSpec
from headrace.operators.reduce import ReduceSpec
from headrace.runtime.block import Mark
from headrace.runtime.operator import OperatorSpec
from headrace.runtime.state.kinds import RESERVED_NAMES
from headrace.runtime.user_function import UserFunction
from tests.unit.runtime.keyed import Harness
from tests.unit.runtime.programs import block


class Mean(AggregateFunction):
    def create_accumulator(self) -> Any:
        return (0, 0)

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Keeping:
    """Counts its calls by key in a state of each kind."""

    name = "calls"

    def open(self, runtime_context: Any) -> None:
        value = ValueStateDescriptor(self.name)
        value.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).build())
        self.calls = runtime_context.get_state(value)
        self.list = runtime_context.get_list_state(ListStateDescriptor("list"))
        self.entries = runtime_context.get_map_state(MapStateDescriptor("map"))
        add = ReducingStateDescriptor("reducing", lambda one, other: one + other)
        self.sum = runtime_context.get_reducing_state(add)
        self.mean = runtime_context.get_aggregating_state(AggregatingStateDescriptor("m", Mean()))

    def called(self) -> int:
        count: int = (self.calls.value() or 0) + 1
        self.calls.update(count)
        self.list.add(count)
        self.entries.put(count, count)
        self.sum.add(1)
        self.mean.add(count)
        assert [*self.list.get()] == [*self.entries.keys()] == [*range(1, count + 1)]
        assert self.sum.get() == count
        assert self.mean.get() == (count + 1) / 2
        return count


class Mapping(Keeping, MapFunction):
    def map(self, value: Any) -> Any:
        return value, self.called()


class FlatMapping(Keeping, FlatMapFunction):
    def flat_map(self, value: Any) -> Iterator[Any]:
        yield value, self.called()


class Filtering(Keeping, FilterFunction):
    def filter(self, value: Any) -> bool:
        return self.called() % 2 == 0


class Processing(Keeping, KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value, self.called()


class Reducing(Keeping, ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1 + value2 * 10 ** self.called()


class CalledReduce(Reducing):
    name = "reduce"


class AskingLate(ReduceFunction):
    """Asks for its state when it first needs it."""

    def open(self, runtime_context: Any) -> None:
        self.context = runtime_context

    def reduce(self, value1: Any, value2: Any) -> Any:
        calls = self.context.get_state(ValueStateDescriptor("late"))
        calls.update((calls.value() or 0) + 1)
        return value1 + value2 * 10 ** calls.value()


RECORDS = (1, 2, 3, 4, 5)
KEYS = ["a", "b", "a", "a", "b"]
COUNTED = [(1, 1), (2, 1), (3, 2), (4, 3), (5, 2)]
REDUCED = [1, 2, 31, 431, 52]

SPECS: dict[str, tuple[OperatorSpec, list[Any], list[Any]]] = {
    "map": (KeyedMapSpec(UserFunction(Mapping(), "map")), COUNTED, COUNTED),
    "flat map": (KeyedFlatMapSpec(UserFunction(FlatMapping(), "flat_map")), COUNTED, COUNTED),
    "filter": (KeyedFilterSpec(UserFunction(Filtering(), "filter")), [3, 5], [3, 5]),
    "process": (KeyedProcessSpec(UserFunction(Processing(), "process_element")), COUNTED, COUNTED),
    "reduce": (ReduceSpec(UserFunction(Reducing(), "reduce")), REDUCED, [431, 52]),
    "reduce, a state called so": (
        ReduceSpec(UserFunction(CalledReduce(), "reduce")),
        REDUCED,
        [431, 52],
    ),
    "reduce, asking late": (ReduceSpec(UserFunction(AskingLate(), "reduce")), REDUCED, [431, 52]),
}


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("paged", [False, True], ids=["heap", "paged"])
@pytest.mark.parametrize("timestamps", [None, [1, 2, 3, 4, 5]], ids=["no time", "event time"])
def test_a_stream(name: str, paged: bool, timestamps: list[int | None] | None) -> None:
    spec, expected, _ = SPECS[name]
    harness = Harness(spec, "split", paged=paged)
    results = []
    for place, record in enumerate(RECORDS):  # each in a micro-batch of its own
        stamps = None if timestamps is None else [timestamps[place]]
        results += harness.advance(block(record, keys=[KEYS[place]], stamps=stamps))
    assert results == expected


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("batch", [False, True], ids=["stream", "batch"])
def test_at_once(name: str, batch: bool) -> None:
    spec, streamed, final = SPECS[name]
    harness = Harness(spec, "split", batch=batch)
    results = harness.advance(block(*RECORDS, keys=KEYS, marks=[Mark(5, "split", MAX_WATERMARK)]))
    assert results == (final if batch else streamed)


@pytest.mark.parametrize(
    "descriptor", [ValueStateDescriptor, ListStateDescriptor, MapStateDescriptor]
)
def test_a_state_cannot_take_the_name_of_an_operators_own(descriptor: Any) -> None:
    with pytest.raises(PlanError, match="cannot be called"):
        descriptor(RESERVED_NAMES + "reduce")
