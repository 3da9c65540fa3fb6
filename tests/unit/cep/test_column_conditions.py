"""Conditions over columns are checked against the type of the stream that a pattern is given."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.cep import CEP, Pattern, PatternRegistry
from headrace.common import Types
from headrace.common.typeinfo import TypeInformation
from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import PlanError, SqlValidationError, WrongFunctionError
from headrace.operators.patterns.over_columns import MOST_CONDITIONS
from headrace.table.expressions import col, current_timestamp, lit, rand

ROW = Types.ROW_NAMED(
    ["name", "amount", "tags"], [Types.STRING(), Types.DOUBLE(), Types.LIST(Types.STRING())]
)


def planned(declared: TypeInformation | None, *conditions: Any) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([("a", 1)]).map(lambda event: event, declared)
    pattern = Pattern.begin("a")
    for each in conditions:
        pattern = pattern.or_(each)
    return CEP.pattern(stream, pattern).select(len)


@pytest.mark.parametrize("declared", [ROW, Types.TUPLE([Types.STRING(), Types.DOUBLE()])])
def test_rows_and_tuples_have_columns(declared: TypeInformation) -> None:
    name = "amount" if declared is ROW else "f1"
    spec = planned(declared, col(name) > 500)._edges[0].source.spec
    assert [str(each) for each in spec.over_columns.columns] != []
    assert spec.over_columns.places == (1,)
    assert spec.over_columns.of_rows is (declared is ROW)


@pytest.mark.parametrize("declared", [None, Types.LONG(), Types.PICKLED_BYTE_ARRAY()])
def test_other_streams_are_refused(declared: TypeInformation | None) -> None:
    with pytest.raises(PlanError, match="reads columns, and the events have none") as raised:
        planned(declared, col("amount") > 500)
    assert "test_column_conditions.py" in raised.value.where["called"]
    assert "ROW_NAMED" in str(raised.value)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (col("amuont") > 5, "did you mean 'amount'"),
        (col("amount") + 5, "this is of type DOUBLE"),
        (col("amount") > col("name").is_null, "amount"),
        (col("tags").is_null, "SQL has no type for the values of column 'tags'"),
        (lit(1) > lit(0), "reads no column"),
        (col("amount") > rand(), "cannot call RAND"),
        (col("amount").is_null & (current_timestamp().is_null), "cannot call CURRENT_TIMESTAMP"),
    ],
    ids=str,
)
def test_wrong_expressions_are_refused(condition: Any, message: str) -> None:
    with pytest.raises(SqlValidationError) as raised:
        planned(ROW, condition)
    assert message in str(raised.value)
    assert "test_column_conditions.py" in raised.value.where["called"]


def test_so_many_conditions_fit() -> None:
    def conditions(count: int) -> list[Any]:
        # Functions between them, as expressions that are combined are one.
        return [each for n in range(count) for each in (col("amount") > n, lambda event: False)]

    assert planned(ROW, *conditions(MOST_CONDITIONS))
    with pytest.raises(PlanError, match="33 different conditions over columns"):
        planned(ROW, *conditions(MOST_CONDITIONS + 1))


def test_expressions_that_are_combined_are_one() -> None:
    spec = planned(ROW, col("amount") > 1, col("amount") < 0)._edges[0].source.spec
    (stage,) = spec.stages
    assert str(stage.condition) == "(`amount` > 1) OR (`amount` < 0)"


def test_a_pattern_is_shown_with_its_expressions() -> None:
    pattern = Pattern.begin("a").where(col("amount") > 5).where(lambda event: True)
    assert "`amount` > 5" in pattern.explain()


def test_a_registry_takes_functions() -> None:
    with pytest.raises(WrongFunctionError):
        PatternRegistry().condition("large", col("amount") > 5)
