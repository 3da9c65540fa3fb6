"""Constants of all types, also those with parts."""

from __future__ import annotations

import datetime
from array import array
from typing import Any

import pytest

from headrace.common import Configuration, Row, RowKind
from headrace.errors import PlanError, UnsupportedError
from headrace.table import DataTypes, EnvironmentSettings, Table, TableEnvironment
from headrace.table.expression import Expression
from headrace.table.expressions import lit

SMALL = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.SMALLINT())]).not_null()
FLOATS = DataTypes.MAP(DataTypes.SMALLINT(), DataTypes.FLOAT()).not_null()
NESTED = DataTypes.ARRAY(DataTypes.ROW([DataTypes.FIELD("m", FLOATS)])).not_null()


@pytest.fixture
def table() -> Table:
    configuration = Configuration().set_string("execution.target", "local")
    settings = EnvironmentSettings.new_instance().with_configuration(configuration)
    return TableEnvironment.create(settings.build()).from_elements([(1,)], ["id"])


def values(table: Table, *expressions: Expression[Any]) -> list[Any]:
    with table.select(*expressions).execute().collect() as rows:
        (row,) = rows
    return [*row]


def test_constants_with_parts(table: Table) -> None:
    found = values(
        table,
        lit([1, None], DataTypes.ARRAY(DataTypes.SMALLINT()).not_null()),
        lit([], DataTypes.ARRAY(DataTypes.STRING()).not_null()),
        lit((1,), SMALL),
        lit(Row(a=1), SMALL),
        lit({1: 1.25}, FLOATS),
        lit({}, FLOATS),
        lit([({3: 0.5},)], NESTED),
        lit(array("d", [1.0, 2.0])),
        lit(array("h")),
        lit(None, NESTED.nullable()),
    )
    assert found == [
        [1, None], [], Row(1), Row(1), {1: 1.25}, {}, [Row({3: 0.5})], [1.0, 2.0], [], None,
    ]  # fmt: skip


def test_they_have_their_types_and_are_equal(table: Table) -> None:
    ids = DataTypes.ARRAY(DataTypes.SMALLINT()).not_null()
    kinds = table.select(lit([1], ids), lit(array("i", [1]))).get_schema().get_field_data_types()
    assert kinds == [ids, DataTypes.ARRAY(DataTypes.INT()).not_null()]
    assert values(table, lit([1, 2], ids) == lit((1, 2), ids), lit([1, 2], ids)[2]) == [True, 2]
    assert str(lit([1, 2], ids)) == "[1, 2]"


def test_moments_with_a_time_zone(table: Table) -> None:
    east = datetime.datetime(2026, 8, 3, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=8)))
    same = datetime.datetime(2026, 8, 3, 4, tzinfo=datetime.UTC)
    moment = DataTypes.TIMESTAMP_LTZ(6).not_null()
    assert values(table, lit(east, moment) == lit(same, moment), lit(east) == lit(same)) == [
        True,
        True,
    ]
    with pytest.raises(UnsupportedError, match="has a time zone, but TIME does not"):
        lit(datetime.time(4, tzinfo=datetime.UTC))


def test_intervals(table: Table) -> None:
    months = DataTypes.INTERVAL(DataTypes.YEAR(), DataTypes.MONTH()).not_null()
    days = DataTypes.INTERVAL(DataTypes.DAY(), DataTypes.SECOND(3)).not_null()
    assert str(lit(14, months)) == "14"
    assert str(lit(datetime.timedelta(days=1), days)) == "86400000"


def test_what_is_no_constant_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="MULTISET"):
        lit({1: 2}, DataTypes.MULTISET(DataTypes.SMALLINT()).not_null())
    with pytest.raises(UnsupportedError, match="ROW without fields"):
        lit((), DataTypes.ROW([]).not_null())
    with pytest.raises(TypeError, match="SMALLINT can not accept"):
        lit([1.25], DataTypes.ARRAY(DataTypes.SMALLINT()).not_null())
    with pytest.raises(ValueError, match=r"Length of object \(2\)"):
        lit((1, 2), SMALL)
    with pytest.raises(ValueError, match="the row has 2 values, and its type 1 fields"):
        lit(Row(a=1, b=2), SMALL)
    with pytest.raises(PlanError, match="not DELETE"):
        lit(Row.of_kind(RowKind.DELETE, 1), SMALL)
