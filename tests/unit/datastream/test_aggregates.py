"""Aggregates by name, record by record."""

from __future__ import annotations

import pickle
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from headrace.common import WatermarkStrategy
from headrace.common.time import Time
from headrace.common.types import Row
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.aggregates import Aggregates, Count, Max, Mean, Min, Sum
from headrace.datastream.window import EventTimeSessionWindows
from headrace.errors import PlanError, TypeMismatchError
from headrace.operators.aggregates.aggregate import fold_of
from headrace.runtime.user_function import UserFunction
from headrace.testing import run_pipeline


@dataclass
class Sale:
    shop: str
    price: Any


Pair = namedtuple("Pair", "shop price")

KINDS: list[Any] = [
    lambda shop, price: {"shop": shop, "price": price},
    lambda shop, price: Row(shop=shop, price=price),
    Sale,
    Pair,
]


def of(aggregates: Aggregates, records: list[Any], cut: int = 1) -> Any:
    """The result of records that were added in two parts."""
    parts = []
    for part in (records[:cut], records[cut:]):
        held = aggregates.create_accumulator()
        for record in part:
            held = aggregates.add(record, held)
        parts.append(held)
    return aggregates.get_result(aggregates.merge(*parts))


@pytest.mark.parametrize("make", KINDS, ids=["dict", "row", "dataclass", "named tuple"])
def test_records_with_names(make: Any) -> None:
    found = Aggregates(
        records=Count(),
        prices=Count("price"),
        total=Sum("price"),
        low=Min("price"),
        high=Max("price"),
        mean=Mean("price"),
    )
    records = [make("a", price) for price in (3, None, 1 << 70, -4)]
    total = (1 << 70) - 1
    wanted = Row(records=4, prices=3, total=total, low=-4, high=1 << 70, mean=total / 3)
    for cut in range(5):
        assert of(found, records, cut) == wanted
    assert of(found, []) == Row(records=0, prices=0, total=None, low=None, high=None, mean=None)
    nothing = Row(records=1, prices=0, total=None, low=None, high=None, mean=None)
    assert of(found, [make("a", None)]) == nothing


def test_records_with_positions() -> None:
    found = Aggregates(total=Sum(1), first=Min(0))
    assert of(found, [("b", Decimal("0.1")), ("a", Decimal("0.2"))]) == Row(
        total=Decimal("0.3"), first="a"
    )
    assert of(Aggregates(n=Count(), total=Sum(0)), [4, 5, 6]) == Row(n=3, total=15)


def test_one_thing_is_held_once() -> None:
    found = Aggregates(n=Count("a"), total=Sum("a"), mean=Mean("a"))
    assert found.create_accumulator() == (0, None)
    copy = pickle.loads(pickle.dumps(found))
    assert (
        repr(copy) == "Aggregates(n=Count(field='a'), total=Sum(field='a'), mean=Mean(field='a'))"
    )
    assert of(copy, [{"a": 1}, {"a": 2}]) == Row(n=2, total=3, mean=1.5)


@pytest.mark.parametrize("record", [{"prise": 1}, Row(prise=1), (1,)])
def test_a_field_that_a_record_does_not_have_is_named(record: Any) -> None:
    with pytest.raises(TypeMismatchError, match="'price'"):
        of(Aggregates(total=Sum("price")), [record])


def test_what_is_no_aggregate_is_refused() -> None:
    for wrong in (lambda: Aggregates(), lambda: Aggregates(n="price"), lambda: Sum(True)):  # type: ignore[arg-type]
        with pytest.raises(PlanError):
            wrong()


def test_a_subclass_is_asked_record_by_record() -> None:
    class Doubled(Aggregates):
        def add(self, value: Any, accumulator: Any) -> Any:
            return super().add(value, super().add(value, accumulator))

    assert fold_of(UserFunction(Doubled(n=Count()))) is None
    env = StreamExecutionEnvironment.get_execution_environment()
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner("at")
    records = [{"key": 1, "at": at} for at in (1, 2, 50)]
    timed = env.from_collection(records).assign_timestamps_and_watermarks(times)
    windows = timed.key_by("key").window(EventTimeSessionWindows.with_gap(Time.milliseconds(9)))
    assert run_pipeline(windows.aggregate(Doubled(n=Count()))).only == [Row(n=4), Row(n=2)]
    assert run_pipeline(windows.aggregate(Aggregates(n=Count()))).only == [Row(n=2), Row(n=1)]
