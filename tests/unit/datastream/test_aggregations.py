"""Rolling aggregations over every kind of record."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import pytest

from headrace.common.types import Row, RowKind
from headrace.datastream._build import aggregations
from headrace.datastream._build.aggregations import FieldAggregation, RecordSelection
from headrace.errors import PlanError, TypeMismatchError


@dataclasses.dataclass(frozen=True)
class Sale:
    shop: str
    price: int


class Named(NamedTuple):
    shop: str
    price: int


MAKERS = [
    pytest.param(lambda shop, price: (shop, price), 1, id="tuple"),
    pytest.param(lambda shop, price: [shop, price], 1, id="list"),
    pytest.param(lambda shop, price: [shop, price], -1, id="list from the end"),
    pytest.param(lambda shop, price: Row(shop, price), 1, id="row"),
    pytest.param(lambda shop, price: Row(shop=shop, price=price), "price", id="named row"),
    pytest.param(lambda shop, price: Row(shop=shop, price=price), 1, id="named row, position"),
    pytest.param(lambda shop, price: {"shop": shop, "price": price}, "price", id="dict"),
    pytest.param(Sale, "price", id="dataclass"),
    pytest.param(Sale, 1, id="dataclass, position"),
    pytest.param(Named, "price", id="named tuple"),
    pytest.param(Named, 1, id="named tuple, position"),
]


@pytest.mark.parametrize(("make", "field"), MAKERS)
def test_one_field_changes_and_the_others_stay(make: Any, field: Any) -> None:
    first, second = make("x", 3), make("y", 2)
    assert FieldAggregation(field, aggregations.add)(first, second) == make("x", 5)
    assert FieldAggregation(field, aggregations.least)(first, second) == make("x", 2)
    assert FieldAggregation(field, aggregations.greatest)(first, second) == make("x", 3)
    assert (first, second) == (make("x", 3), make("y", 2))  # neither was changed in place
    assert type(FieldAggregation(field, aggregations.add)(first, second)) is type(first)


@pytest.mark.parametrize(("make", "field"), MAKERS)
def test_whole_records_are_kept(make: Any, field: Any) -> None:
    first, less, equal = make("x", 3), make("y", 2), make("z", 3)
    least = RecordSelection(field, aggregations.least)
    greatest = RecordSelection(field, aggregations.greatest)
    assert least(first, less) is less and greatest(first, less) is first
    assert least(first, equal) is first and greatest(first, equal) is first
    assert greatest(less, first) is first


def test_plain_values() -> None:
    assert FieldAggregation(0, aggregations.add)(2, 3) == 5
    assert FieldAggregation(0, aggregations.least)("b", "a") == "a"
    assert RecordSelection(0, aggregations.greatest)(2.5, 3) == 3
    for wrong in (1, "price"):
        with pytest.raises(TypeMismatchError, match="which has no fields"):
            FieldAggregation(wrong, aggregations.add)(2, 3)
        with pytest.raises(TypeMismatchError, match="which has no fields"):
            RecordSelection(wrong, aggregations.least)(2, 3)


def test_a_row_keeps_its_kind() -> None:
    first = Row.of_kind(RowKind.UPDATE_AFTER, "x", 1)
    summed = FieldAggregation(1, aggregations.add)(first, Row("y", 2))
    assert summed == Row.of_kind(RowKind.UPDATE_AFTER, "x", 3)


@pytest.mark.parametrize("field", [1.0, None, True, [0]])
def test_a_field_is_a_position_or_a_name(field: Any) -> None:
    with pytest.raises(PlanError, match=r"position \(int\) or its name"):
        FieldAggregation(field, aggregations.add)
