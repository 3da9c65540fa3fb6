"""Descriptions of tables as texts: PyFlink's, in the order of Java's maps."""

from __future__ import annotations

from headrace.common.config_options import ConfigOptions
from headrace.table import DataTypes, FormatDescriptor, Schema, TableDescriptor
from headrace.table.expressions import call_sql, col


def test_options_are_in_the_order_of_java() -> None:
    flag = ConfigOptions.key("a").boolean_type().no_default_value()
    form = FormatDescriptor.for_format("test-format").option(flag, False).build()
    assert str(form) == "test-format[{a=false}]"
    descriptor = (
        TableDescriptor.for_connector("test-connector")
        .schema(Schema.new_builder().column("f0", DataTypes.STRING()).build())
        .partitioned_by("f0")
        .option(flag, True)
        .format(form)
        .comment("it's a table")
        .build()
    )
    assert str(descriptor).splitlines() == [
        "(",
        "  `f0` STRING",
        ")",
        "COMMENT 'it''s a table'",
        "PARTITIONED BY (`f0`)",
        "WITH (",
        "  'a' = 'true',",
        "  'connector' = 'test-connector',",
        "  'test-format.a' = 'false',",
        "  'format' = 'test-format'",
        ")",
    ]


def test_a_schema_shows_what_was_given() -> None:
    given = Schema.new_builder().column("a", "ROW<x INT>").column_by_expression("b", "a.x + 1")
    more = Schema.new_builder().from_schema(given.build()).column_by_expression("c", col("b") * 2)
    more.column_by_expression("d", call_sql("UPPER('x')")).watermark("t", col("t") - 1)
    assert str(more.build()).splitlines()[1:-1] == [
        "  `a` [ROW<x INT>],",
        "  `b` AS [a.x + 1],",
        "  `c` AS times(b, 2),",
        "  `d` AS [UPPER('x')],",
        "  WATERMARK FOR `t` AS minus(t, 1)",
    ]
