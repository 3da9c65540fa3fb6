"""Python values and DataFrames as columns and rows."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from headrace.sql.rel import Column
from headrace.sql.types import BIGINT, INT, STRING
from headrace.table import DataTypes
from headrace.table._planning.elements import rows_of_elements, rows_of_frame

ROW = DataTypes.ROW(
    [DataTypes.FIELD("k", DataTypes.STRING()), DataTypes.FIELD("v", DataTypes.INT())]
)
FRAME = pd.DataFrame({"a": ["x", "y"], "b": [1, 2]})


@pytest.mark.parametrize(
    ("elements", "schema", "columns", "rows"),
    [
        ([("a", 1)], None, [Column("_1", STRING), Column("_2", BIGINT)], [["a", 1]]),
        ([("a", 1)], ["k", "v"], [Column("k", STRING), Column("v", BIGINT)], [["a", 1]]),
        ([("a", 1)], ROW, [Column("k", STRING), Column("v", INT)], [["a", 1]]),
        ([{"v": 1, "k": "a"}], ROW, [Column("k", STRING), Column("v", INT)], [["a", 1]]),
        ([1, 2], DataTypes.INT(), [Column("value", INT)], [[1], [2]]),
    ],
)
def test_elements_have_the_columns_of_their_schema(
    elements: list[Any], schema: Any, columns: list[Column], rows: list[list[Any]]
) -> None:
    assert rows_of_elements(elements, schema, True) == ((*columns,), rows)


def test_a_value_of_another_class_is_refused() -> None:
    with pytest.raises(TypeError, match="v"):
        rows_of_elements([("a", "b")], ROW, True)
    with pytest.raises(TypeError, match="schema should be RowType"):
        rows_of_elements([("a", 1)], "k, v", True)


def test_a_frame_has_the_types_of_its_columns() -> None:
    columns, rows = rows_of_frame(FRAME, None)
    assert columns == (Column("a", STRING), Column("b", BIGINT))
    assert rows == [["x", 1], ["y", 2]]
    assert rows_of_frame(FRAME, ["k", "v"])[0] == (Column("k", STRING), Column("v", BIGINT))
    assert rows_of_frame(FRAME, ROW)[0] == (Column("k", STRING), Column("v", INT))


@pytest.mark.parametrize(
    ("frame", "schema", "problem"),
    [
        ([("x", 1)], None, "expected pandas.DataFrame"),
        (FRAME, ["k"], "1 columns are declared for 2"),
        (FRAME, "k", "a schema is a ROW type, names or types"),
        (FRAME, [DataTypes.INT(), DataTypes.INT()], "column 'a'"),
    ],
)
def test_a_frame_that_does_not_fit_is_refused(frame: Any, schema: Any, problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        rows_of_frame(frame, schema)
