"""Rolling aggregations over every kind of record."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
import re
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pytest

from headrace.common.types import Row, RowKind
from headrace.datastream._build.aggregations import extreme_record, first_record
from headrace.errors import PlanError, TypeMismatchError
from headrace.operators.aggregates import extremes


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
    assert first_record("sum", field)(first, second) == make("x", 5)
    assert first_record("min", field)(first, second) == make("x", 2)
    assert first_record("max", field)(first, second) == make("x", 3)
    assert (first, second) == (make("x", 3), make("y", 2))  # neither was changed in place
    assert type(first_record("sum", field)(first, second)) is type(first)


@pytest.mark.parametrize(("make", "field"), MAKERS)
def test_whole_records_are_kept(make: Any, field: Any) -> None:
    first, less, equal = make("x", 3), make("y", 2), make("z", 3)
    least = extreme_record("min", field)
    greatest = extreme_record("max", field)
    assert least(first, less) is less and greatest(first, less) is first
    assert least(first, equal) is first and greatest(first, equal) is first
    assert greatest(less, first) is first


@pytest.mark.parametrize(
    "in_order",
    [
        [-math.inf, -1.0, -0.0, 0.0, 5e-324, 1.0, math.inf, math.nan],
        [Decimal("-Infinity"), Decimal("-0"), Decimal(0), Decimal("0.1"), Decimal("NaN")],
        [np.float64(-0.0), 0, np.int64(1), np.float64(math.inf), np.float64(math.nan)],
        [np.float32(-0.0), np.float32(0.0), math.nan],
        [-0.0, Decimal(0), 1.5, Decimal("NaN")],
    ],
    ids=["floats", "decimals", "numpy", "float32", "mixed"],
)
def test_the_order_of_values_is_total(in_order: list[Any]) -> None:
    """NaN after all numbers, -0.0 before 0.0: whichever of two comes first, one is the least."""
    for less, greater in itertools.combinations(in_order, 2):
        for pair in ((less, greater), (greater, less)):
            assert extremes.least(*pair) is less
            assert extremes.greatest(*pair) is greater
    for value in in_order:
        equal = copy.deepcopy(value)
        assert extremes.least(value, equal) is value
        assert extremes.greatest(value, equal) is value


def test_plain_values() -> None:
    assert first_record("sum", 0)(2, 3) == 5
    assert first_record("min", 0)("b", "a") == "a"
    assert extreme_record("max", 0)(2.5, 3) == 3
    for wrong in (1, "price"):
        with pytest.raises(TypeMismatchError, match="which has no fields"):
            first_record("sum", wrong)(2, 3)
        with pytest.raises(TypeMismatchError, match="which has no fields"):
            extreme_record("min", wrong)(2, 3)


@pytest.mark.parametrize("kind", [first_record, extreme_record])
@pytest.mark.parametrize(
    ("record", "field", "said"),
    [
        (("x", 1), 7, "a tuple has no field 7.*'x', 1.*positions 0 to 1$"),
        (("x", 1), "f2", "a tuple has no field 'f2'.*'x', 1.*positions 0 to 1$"),
        (["x", 1], 2, "a list has no field 2"),
        (Row("x", 1), "b", "a Row has no field 'b'.*'x', 1.*positions 0 to 1$"),
        (Row(a="x", n=1), "b", "a Row has no field 'b'.*0 to 1, named a, n"),
        ({"a": "x", "n": 1}, "b", "a dict has no field 'b'.*named a, n"),
        (Named("x", 1), 3, "a Named has no field 3.*named"),
        (Sale("x", 1), "b", "a Sale has no field 'b'.*named shop, price"),
    ],
)
def test_a_field_that_is_missing_is_named_with_the_record(
    kind: Any, record: Any, field: Any, said: str
) -> None:
    with pytest.raises(TypeMismatchError) as caught:
        kind("min", field)(record, record)
    assert re.search(said, str(caught.value), re.DOTALL), caught.value


def test_an_error_of_a_value_stays_as_it_is() -> None:
    class Odd:
        def __lt__(self, other: Any) -> bool:
            raise IndexError("within")

    for kind in (first_record, extreme_record):
        with pytest.raises(IndexError, match="within"):
            kind("min", 0)((Odd(),), (Odd(),))


def test_a_row_keeps_its_kind() -> None:
    first = Row.of_kind(RowKind.UPDATE_AFTER, "x", 1)
    summed = first_record("sum", 1)(first, Row("y", 2))
    assert summed == Row.of_kind(RowKind.UPDATE_AFTER, "x", 3)


@pytest.mark.parametrize("field", [1.0, None, True, [0]])
def test_a_field_is_a_position_or_a_name(field: Any) -> None:
    with pytest.raises(PlanError, match=r"position \(int\) or its name"):
        first_record("sum", field)
