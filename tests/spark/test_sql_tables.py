"""The tables of Spark's own catalog: read by name, and written exactly once."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace.common import Configuration
from headrace.errors import CatalogError, SqlValidationError, UnsupportedError
from headrace.runners.spark.startup.session import get_session
from headrace.table import EnvironmentSettings, TableEnvironment

pytestmark = pytest.mark.spark

ROW = (
    7,
    "x",
    Decimal("1.50"),
    datetime.datetime(2026, 1, 2, 3, 4, 5),
    datetime.date(2026, 1, 2),
    ["a", None],
)


def environment(batch: bool) -> TableEnvironment:
    config = Configuration()
    config.set_string("parallelism.default", "2")
    made = EnvironmentSettings.new_instance().with_configuration(config)
    made = made.in_batch_mode() if batch else made.in_streaming_mode()
    env = TableEnvironment.create(made.build())
    env.execute_sql("CREATE CATALOG s WITH ('type' = 'spark')")
    return env


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    folder: Path = tmp_path_factory.mktemp("tables")
    session = get_session({"spark.master": "local[2]"}, 2)
    session.sql("CREATE DATABASE IF NOT EXISTS shop")
    columns = "n BIGINT, s STRING, p DECIMAL(8, 2), ts TIMESTAMP_NTZ, d DATE, tags ARRAY<STRING>"
    for name in ("given", "made"):
        session.sql(
            f"CREATE TABLE shop.{name} ({columns}) USING parquet LOCATION '{folder}/{name}'"
        )
    session.sql(
        "INSERT INTO shop.given VALUES (7, 'x', 1.5, TIMESTAMP_NTZ '2026-01-02 03:04:05',"
        " DATE '2026-01-02', array('a', NULL))"
    )
    session.sql(
        "CREATE TABLE shop.parts (n INT, k STRING) USING parquet PARTITIONED BY (k)"
        f" LOCATION '{folder}/parts'"
    )
    session.sql(
        "CREATE TABLE shop.texts (n INT, s STRING) USING csv"
        f" OPTIONS (sep '|', header true, nullValue 'none') LOCATION '{folder}/texts'"
    )
    session.sql(
        "CREATE TABLE shop.nested (`a b` STRUCT<`c.d`: INT, e: ARRAY<STRUCT<`f g`: STRING>>>)"
        f" USING json LOCATION '{folder}/nested'"
    )
    session.sql("CREATE VIEW shop.v AS SELECT n + 1 AS n FROM shop.given")
    return session


def collected(env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    with env.execute_sql(query).collect() as found:
        return [tuple(row) for row in found]


@pytest.mark.capability("SQL: tables of Spark's catalog", runners="batch, streaming")
@pytest.mark.parametrize("batch", [True, False])
def test_tables_of_spark_are_read_and_written(spark: SparkSession, batch: bool) -> None:
    env = environment(batch)
    assert {"given", "made", "parts", "v"} <= {
        name for (name,) in collected(env, "SHOW TABLES FROM s.shop")
    }
    assert collected(env, "SELECT * FROM s.shop.given WHERE n > 3") == [ROW]
    assert collected(env, "SELECT SUM(n) FROM s.shop.v")[-1] == (8,)
    plan = env.explain_sql("SELECT SUM(n) FROM s.shop.given")
    assert ("fields=[n])" in plan) is batch, "a stream stores the rows for later statements"
    before = spark.table("shop.made").count()
    env.execute_sql(
        "INSERT INTO s.shop.made SELECT n + 1, s, p, ts, d, tags FROM s.shop.given"
    ).wait()
    spark.catalog.refreshTable("shop.made")
    assert spark.table("shop.made").count() == before + 1
    assert collected(env, "SELECT * FROM s.shop.made")[0] == (8, *ROW[1:])


def test_files_are_written_with_the_options_of_their_table(spark: SparkSession) -> None:
    env = environment(batch=False)
    env.execute_sql("INSERT INTO s.shop.texts VALUES (1, 'a|b'), (2, CAST(NULL AS STRING))").wait()
    spark.catalog.refreshTable("shop.texts")
    assert {tuple(row) for row in spark.table("shop.texts").collect()} == {(1, "a|b"), (2, None)}
    assert sorted(collected(env, "SELECT * FROM s.shop.texts")) == [(1, "a|b"), (2, None)]


def test_any_names(spark: SparkSession) -> None:
    env = environment(batch=True)
    env.execute_sql(
        "INSERT INTO s.shop.nested SELECT CAST(ROW(1, ARRAY[ROW('x')]) AS"
        " ROW<`c.d` INT, e ARRAY<ROW<`f g` STRING>>>)"
    ).wait()
    assert collected(env, "SELECT `a b`.`c.d`, `a b`.e[1].`f g` FROM s.shop.nested") == [(1, "x")]


def test_a_catalog_of_spark_is_there_again_in_a_later_session(
    spark: SparkSession, tmp_path: Path
) -> None:
    store = {
        "table.catalog-store.kind": "file",
        "table.catalog-store.file.path": str(tmp_path),
    }

    def session() -> TableEnvironment:
        made = EnvironmentSettings.new_instance().in_batch_mode()
        return TableEnvironment.create(
            made.with_configuration(Configuration.from_dict(store)).build()
        )

    session().execute_sql("CREATE CATALOG s WITH ('type' = 'spark')")
    later = session()
    assert ("s",) in collected(later, "SHOW CATALOGS")
    assert collected(later, "SELECT n, s FROM s.shop.given") == [(7, "x")]


def test_what_is_not_exactly_once_is_refused(spark: SparkSession) -> None:
    env = environment(batch=False)
    with pytest.raises(UnsupportedError, match="lists its partitions"):
        env.execute_sql("INSERT INTO s.shop.parts VALUES (1, 'a')")
    with pytest.raises(UnsupportedError, match="exactly once"):
        env.execute_sql("INSERT INTO s.shop.v VALUES (1)")
    with pytest.raises(UnsupportedError, match="Spark's catalog is not made"):
        env.execute_sql("CREATE TABLE s.shop.other (n INT) WITH ('connector' = 'print')")
    for name in ("given`` WHERE n > 0", "given; DROP TABLE shop.given"):
        with pytest.raises(CatalogError, match=r"DROP|WHERE"):
            env.execute_sql(f"SELECT * FROM s.shop.`{name}`")
    with pytest.raises(CatalogError, match="given"):
        env.execute_sql("SELECT * FROM s.shop.givn")
    changes = "SELECT COUNT(*), s, MAX(p), MAX(ts), MAX(d), ARRAY['a'] FROM s.shop.given GROUP BY s"
    with pytest.raises(SqlValidationError, match="does not accept the changes"):
        env.execute_sql(f"INSERT INTO s.shop.made {changes}")
