"""Catalogs, databases, tables and views by name."""

from __future__ import annotations

from typing import Any

from pyflink.table.expressions import col


def current_names(run: Any) -> None:
    tables = run.streaming()
    run.say(tables.get_current_catalog())
    run.say(tables.get_current_database())
    run.say(tables.list_catalogs())
    run.say(tables.list_databases())
    run.say(tables.list_tables())


def databases(run: Any) -> None:
    tables = run.streaming()
    tables.execute_sql("CREATE DATABASE shop")
    run.say(sorted(tables.list_databases()))
    tables.use_database("shop")
    run.say(tables.get_current_database())
    tables.execute_sql("CREATE TABLE t (n INT) WITH ('connector' = 'datagen')")
    run.say(tables.list_tables())
    tables.use_database("default_database")
    run.say(tables.list_tables())
    run.schema(tables.from_path("shop.t"))
    run.schema(tables.from_path("default_catalog.shop.t"))
    run.fails(lambda: tables.use_database("nowhere"))
    run.fails(lambda: tables.execute_sql("DROP DATABASE shop RESTRICT"))
    tables.execute_sql("DROP DATABASE shop CASCADE")
    run.say(tables.list_databases())


def tables_and_views(run: Any) -> None:
    tables = run.streaming()
    tables.execute_sql("CREATE TABLE t (n INT) WITH ('connector' = 'datagen')")
    tables.execute_sql("CREATE TEMPORARY TABLE u (n INT) WITH ('connector' = 'datagen')")
    tables.execute_sql("CREATE VIEW v AS SELECT n + 1 AS m FROM t")
    tables.create_temporary_view("w", tables.from_path("t").where(col("n") > 3))
    run.say(tables.list_tables())
    run.say(tables.list_views())
    run.say(tables.list_temporary_tables())
    run.say(tables.list_temporary_views())
    run.schema(tables.from_path("v"))
    run.fails(lambda: tables.execute_sql("CREATE VIEW v AS SELECT 1"))
    run.say(tables.drop_temporary_table("u"))
    run.say(tables.drop_view("v"))
    run.say(tables.drop_table("t"))
    run.say(tables.list_tables())


def shown_by_statements(run: Any) -> None:
    tables = run.streaming()
    tables.execute_sql("CREATE TABLE t (n INT NOT NULL, s STRING) WITH ('connector' = 'datagen')")
    run.printed(lambda: tables.execute_sql("SHOW TABLES").print())
    run.printed(lambda: tables.execute_sql("DESCRIBE t").print())
    run.printed(lambda: tables.execute_sql("SHOW DATABASES").print())
    run.printed(lambda: tables.execute_sql("SHOW CURRENT DATABASE").print())
    run.printed(lambda: tables.execute_sql("CREATE DATABASE more").print())


def options(run: Any) -> None:
    tables = run.streaming()
    config = tables.get_config()
    run.say(config.get("table.local-time-zone", ""))
    config.set("table.exec.mini-batch.enabled", "true")
    run.say(config.get("table.exec.mini-batch.enabled", "false"))
    config.set_local_timezone("Asia/Tokyo")
    run.say(config.get_local_timezone())
    run.rows(tables.sql_query("SELECT CAST(TO_TIMESTAMP_LTZ(0, 3) AS STRING)"))
