"""What is computed of fields: row by row, over arrays, and without what is taken back."""

from __future__ import annotations

import math
import pickle
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common.types import Row
from headrace.errors import TypeMismatchError
from headrace.operators.aggregates.aggregate import (
    ExtremeRecord,
    FieldAggregate,
    FirstRecord,
    Fold,
    TupleFold,
    fold_of,
)
from headrace.operators.aggregates.kernels import ROWS, grouped_aggregates
from headrace.runtime.columns.exactness import AggregateKind, to_groupable_column
from headrace.runtime.user_function import UserFunction

HOWS: tuple[AggregateKind, ...] = ("count", "sum", "min", "max")
INTS = st.none() | st.integers(-9, 9) | st.sampled_from([1 << 40, -(1 << 40)])
FINITE = st.none() | st.floats(-1e9, 1e9)
BACK = TupleFold((FieldAggregate("count"), *(FieldAggregate(h, "n") for h in HOWS[:2])))


def held_of(fold: Fold, records: list[Any]) -> Any:
    first, *other_slot = records
    held = fold.initial(first)
    for record in other_slot:
        held = fold.add(held, record)
    return held


@pytest.mark.parametrize("floats", [False, True])
@given(data=st.data())
def test_taking_back_leaves_what_the_other_records_give(floats: bool, data: st.DataObject) -> None:
    """Sums of floats are differences, as in Flink; all else is equal to the last bit."""
    values = data.draw(st.lists(FINITE if floats else INTS, min_size=2, max_size=9))
    records = [{"n": value} for value in values]
    back = data.draw(st.integers(1, len(records) - 1))
    held = held_of(BACK, records)
    for record in reversed(records[back:]):
        held = BACK.retract(held, record)
    everything, counted, total = BACK.add(held, {"n": None})
    wanted = held_of(BACK, [*records[:back], {"n": None}])
    assert (everything, counted) == wanted[:2]
    if counted == 0:
        assert not total or floats  # only the count knows that there is no value
    elif floats:
        assert math.isclose(total, wanted[2], rel_tol=1e-9, abs_tol=1e-5)
    else:
        assert total == wanted[2]


def test_a_record_gives_its_field_back() -> None:
    fold = FirstRecord(FieldAggregate("sum", "n"))
    for make in (dict, Row):
        held = fold.add(make(key="a", n=2), make(key="b", n=5))
        assert fold.retract(held, make(key="a", n=2)) == make(key="a", n=5)
    assert FirstRecord(FieldAggregate("sum", 1)).retract(("a", 7), ("b", 5)) == ("a", 2)
    assert fold.can_retract and BACK.can_retract


@pytest.mark.parametrize(
    "fold",
    [
        TupleFold((FieldAggregate("count"), FieldAggregate("min", "n"))),
        FirstRecord(FieldAggregate("max", "n")),
        ExtremeRecord(FieldAggregate("min", "n")),
    ],
)
def test_least_and_greatest_values_are_not_taken_back(fold: Fold) -> None:
    assert not fold.can_retract
    held = held_of(fold, [{"n": 1}, {"n": 2}])
    with pytest.raises(TypeError, match="cannot take a record back"):
        fold.retract(held, {"n": 2})


@given(
    st.sampled_from([(pa.int64(), INTS), (pa.float64(), FINITE), (pa.string(), st.text("ab"))]),
    st.data(),
)
def test_arrays_by_group_give_what_records_give(kind: Any, data: st.DataObject) -> None:
    """To the last bit, groups in the order of their first rows; or arrays are refused."""
    arrow, values = kind
    rows = data.draw(st.lists(st.tuples(st.sampled_from("xyz"), values), min_size=1))
    keys, numbers = zip(*rows, strict=True)
    column = pa.array(numbers, arrow)
    table: dict[str, Any] = {"key": keys, "row": range(len(rows))}
    hows = [how for how in HOWS if arrow != pa.string() or how != "sum"]
    found = {how: to_groupable_column(column, how) for how in hows}
    given = {how: one.column for how, one in found.items() if one is not None}
    assert given or -0.0 in numbers
    wanted: list[tuple[str, AggregateKind]] = [(ROWS, "count"), *((how, how) for how in given)]
    arrays = grouped_aggregates(pa.table({**table, **given}), ["key"], wanted, ["row"])
    fold = TupleFold((*(FieldAggregate(how, 1) for how in given),))
    by_key: dict[str, list[Any]] = {}
    for row in rows:
        by_key.setdefault(row[0], []).append(row)
    assert arrays["key"].to_pylist() == [*by_key]
    assert arrays[ROWS].to_pylist() == [*map(len, by_key.values())]
    assert arrays["row"].to_pylist() == [keys.index(key) for key in by_key]
    results = zip(*(arrays[how].to_pylist() for how in given), strict=True)
    assert repr([*results]) == repr([held_of(fold, each) for each in by_key.values()])


@dataclass
class Trade:
    symbol: str
    amount: int


def test_after_a_tuple_there_may_be_another_record_with_fields() -> None:
    total = FirstRecord(FieldAggregate("sum", 1))
    for record in (("b", 2), Row("b", 2), Trade("b", 2)):
        assert total.add(("a", 1), record) == ("a", 3)
    with pytest.raises(TypeMismatchError, match="field 1 is asked of a int"):
        total.add(("a", 1), 5)


def test_a_fold_travels_with_its_job() -> None:
    sent = pickle.loads(pickle.dumps(BACK))
    assert sent == BACK and sent.initial({"n": 3}) == (1, 1, 3)


def test_a_function_of_the_user_may_have_a_fold() -> None:
    """The name alone says nothing."""

    class Folding:
        fold = "origami"

    assert fold_of(UserFunction(Folding())) is None
