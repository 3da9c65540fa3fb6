"""Columns of a stream by name and by place, with the times of its records."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import Types
from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import SqlValidationError
from headrace.table import StreamTableEnvironment
from headrace.table.expressions import col

pytest.importorskip("sqlglot")

ROWS = Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.STRING()])
TUPLES = Types.TUPLE([Types.INT(), Types.STRING()])


def columns(kind: Any, *fields: Any) -> list[str]:
    env = StreamExecutionEnvironment.get_execution_environment()
    table_env = StreamTableEnvironment.create(env)
    stream = env.from_collection([(1, "a")], kind)
    schema = table_env.from_data_stream(stream, *fields).get_resolved_schema()
    return [each.as_summary_string() for each in schema.get_columns()]


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        (ROWS, [col("x"), col("p").proctime], ["`x` INT", "`p` TIMESTAMP_LTZ(3) *PROCTIME*"]),
        (ROWS, [col("p").proctime, col("x")], ["`p` TIMESTAMP_LTZ(3) *PROCTIME*", "`x` INT"]),
        (
            ROWS,
            [col("x"), col("p").proctime.alias("z")],
            ["`x` INT", "`z` TIMESTAMP_LTZ(3) *PROCTIME*"],
        ),
        (
            ROWS,
            [col("x"), col("r").rowtime, col("p").proctime],
            ["`x` INT", "`r` TIMESTAMP(3) *ROWTIME*", "`p` TIMESTAMP_LTZ(3) *PROCTIME*"],
        ),
        (
            TUPLES,
            [col("a"), col("b"), col("p").proctime],
            ["`a` INT", "`b` STRING", "`p` TIMESTAMP_LTZ(3) *PROCTIME*"],
        ),
    ],
)
def test_times_are_columns(kind: Any, fields: list[Any], expected: list[str]) -> None:
    assert columns(kind, *fields) == expected


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (ROWS, [col("x"), col("y").proctime], "cannot replace a field"),
        (TUPLES, [col("a"), col("p").proctime, col("b")], "cannot replace a field"),
        (TUPLES, [col("a"), col("p").proctime], "cannot replace a field"),
        (ROWS, [col("x"), col("p").proctime, col("q").proctime], "one .proctime"),
        (ROWS, [col("x"), col("p").rowtime, col("q").rowtime], "one .rowtime"),
    ],
)
def test_what_is_no_column_of_its_own(kind: Any, fields: list[Any], message: str) -> None:
    with pytest.raises(SqlValidationError, match=message):
        columns(kind, *fields)
