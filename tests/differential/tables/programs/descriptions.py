"""Schemas, descriptors and types as texts."""

from __future__ import annotations

from typing import Any

from pyflink.table import DataTypes, FormatDescriptor, Schema, TableDescriptor
from pyflink.table.expressions import col


def a_schema(run: Any) -> None:
    schema = (
        Schema.new_builder()
        .column("id", DataTypes.BIGINT().not_null())
        .column("name", "STRING")
        .column_by_expression("twice", "id * 2")
        .column_by_metadata("ts", DataTypes.TIMESTAMP(3), "timestamp", True)
        .watermark("ts", "ts - INTERVAL '5' SECOND")
        .primary_key("id")
        .build()
    )
    run.say(str(schema))
    run.say(str(Schema.new_builder().from_schema(schema).column("more", "INT").build()))


def a_schema_of_fields(run: Any) -> None:
    fields = [DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b", DataTypes.STRING())]
    run.say(str(Schema.new_builder().from_row_data_type(DataTypes.ROW(fields)).build()))
    names, kinds = ["x", "y"], [DataTypes.DOUBLE(), DataTypes.DATE()]
    run.say(str(Schema.new_builder().from_fields(names, kinds).build()))


def a_descriptor(run: Any) -> None:
    schema = Schema.new_builder().column("id", "INT").column("day", "STRING").build()
    descriptor = (
        TableDescriptor.for_connector("filesystem")
        .schema(schema)
        .partitioned_by("day")
        .option("path", "/data")
        .format(FormatDescriptor.for_format("csv").option("field-delimiter", ";").build())
        .comment("days")
        .build()
    )
    run.say(str(descriptor.get_schema()))
    run.say(descriptor.get_partition_keys())
    run.say(dict(descriptor.get_options()))
    run.say(descriptor.get_comment())


def types(run: Any) -> None:
    for kind in (
        DataTypes.DECIMAL(10, 2),
        DataTypes.CHAR(3),
        DataTypes.VARCHAR(9),
        DataTypes.BYTES(),
        DataTypes.TIMESTAMP(3),
        DataTypes.TIMESTAMP_LTZ(3),
        DataTypes.TIME(0),
        DataTypes.ARRAY(DataTypes.INT()),
        DataTypes.MAP(DataTypes.STRING(), DataTypes.DOUBLE().not_null()),
        DataTypes.ROW([DataTypes.FIELD("a", DataTypes.SMALLINT())]),
        DataTypes.INTERVAL(DataTypes.DAY(), DataTypes.SECOND(3)),
    ):
        run.say(str(kind))


def expressions(run: Any) -> None:
    run.say(str(col("a") + 1))
    run.say(str(col("a").upper_case))
    run.say(str((col("a") > 1) & (col("b") == "x")))
    run.say(str(col("a").sum.alias("total")))
