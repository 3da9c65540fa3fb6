"""Older descriptions of tables as properties, in PyFlink's words."""

from __future__ import annotations

import pytest

from headrace.errors import PlanError, UnsupportedError
from headrace.table import DataTypes, TableSchema
from headrace.table.descriptors import Rowtime, Schema


def test_columns_become_properties() -> None:
    rowtime = Rowtime().timestamps_from_field("n").watermarks_periodic_bounded(5000)
    schema = (
        Schema(TableSchema(["n"], [DataTypes.BIGINT()]))
        .field("text", DataTypes.STRING())
        .from_origin_field("TEXT")
        .field("at", "SQL_TIMESTAMP")
        .rowtime(rowtime)
        .fields({"now": DataTypes.TIMESTAMP_LTZ(3)})
        .proctime()
    )
    assert schema.to_properties() == {
        "schema.0.name": "n",
        "schema.0.data-type": "BIGINT",
        "schema.1.name": "text",
        "schema.1.data-type": "VARCHAR(2147483647)",
        "schema.1.from": "TEXT",
        "schema.2.name": "at",
        "schema.2.data-type": "TIMESTAMP(3)",
        "schema.2.rowtime.timestamps.type": "from-field",
        "schema.2.rowtime.timestamps.from": "n",
        "schema.2.rowtime.watermarks.type": "periodic-bounded",
        "schema.2.rowtime.watermarks.delay": "5000",
        "schema.3.name": "now",
        "schema.3.data-type": "TIMESTAMP_LTZ(3)",
        "schema.3.proctime": "true",
    }


def test_what_has_no_column_or_needs_java_is_refused() -> None:
    with pytest.raises(PlanError, match="there is no field"):
        Schema().proctime()
    with pytest.raises(PlanError, match="the field 'a' already exists"):
        Schema().field("a", "INT").field("a", "INT")
    with pytest.raises(UnsupportedError, match="no JVM"):
        Rowtime().watermarks_from_strategy("org.example.Strategy")
