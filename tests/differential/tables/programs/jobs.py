"""Rows that are written into tables."""

from __future__ import annotations

from typing import Any

from pyflink.table import DataTypes, Schema, TableDescriptor
from pyflink.table.expressions import col


def _written(run: Any, name: str) -> None:
    lines = [
        line
        for path in sorted((run.folder / name).rglob("*"))
        if path.is_file()
        and not any(part[0] in "._" for part in path.relative_to(run.folder / name).parts)
        for line in path.read_text("utf-8").splitlines()
    ]
    run.say(sorted(lines))


def _target(run: Any, tables: Any, name: str) -> None:
    tables.execute_sql(
        f"CREATE TABLE {name} (id BIGINT, item STRING) WITH ('connector' = 'filesystem',"
        f" 'path' = '{run.folder}/{name}', 'format' = 'csv')"
    )


def _items(tables: Any) -> Any:
    return tables.from_elements([(1, "pen"), (2, "ink")], ["id", "item"])


def execute_insert(run: Any) -> None:
    tables = run.batch()
    _target(run, tables, "sink")
    _items(tables).execute_insert("sink").wait()
    _written(run, "sink")


def insert_into(run: Any) -> None:
    tables = run.batch()
    _target(run, tables, "sink")
    pipeline = _items(tables).where(col("id") > 1).insert_into("sink")
    pipeline.execute().wait()
    _written(run, "sink")


def insert_statement(run: Any) -> None:
    tables = run.batch()
    _target(run, tables, "sink")
    tables.create_temporary_view("items", _items(tables))
    result = tables.execute_sql("INSERT INTO sink SELECT id + 10, UPPER(item) FROM items")
    result.wait()
    run.rows(result)
    _written(run, "sink")


def statement_set(run: Any) -> None:
    tables = run.batch()
    _target(run, tables, "pens")
    _target(run, tables, "inks")
    items = _items(tables)
    tables.create_temporary_view("items", items)
    statements = tables.create_statement_set()
    statements.add_insert("pens", items)
    statements.add_insert_sql("INSERT INTO inks SELECT id, item FROM items WHERE id = 2")
    statements.add(items.where(col("id") == 1).insert_into("inks"))
    result = statements.execute()
    result.wait()
    run.rows(result)
    _written(run, "pens")
    _written(run, "inks")


def insert_into_a_descriptor(run: Any) -> None:
    tables = run.batch()
    schema = (
        Schema.new_builder()
        .column("id", DataTypes.BIGINT())
        .column("item", DataTypes.STRING())
        .build()
    )
    descriptor = (
        TableDescriptor.for_connector("filesystem")
        .schema(schema)
        .option("path", f"{run.folder}/sink")
        .format("csv")
        .build()
    )
    _items(tables).execute_insert(descriptor).wait()
    _written(run, "sink")


def wrong_inserts(run: Any) -> None:
    tables = run.streaming()
    _target(run, tables, "sink")
    items = _items(tables)
    run.fails(lambda: items.execute_insert("nowhere"))
    run.fails(lambda: items.select(col("item"), col("id")).execute_insert("sink"))
    run.fails(lambda: items.select(col("id")).execute_insert("sink"))
    groups = items.group_by(col("item")).select(col("id").sum, col("item"))
    run.fails(lambda: groups.execute_insert("sink"))
