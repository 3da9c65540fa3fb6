"""Tables of Spark over the files of savepoints; values are decoded by tasks."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from headrace.common._options import catalogue as options
from headrace.common._storage.locations import hadoop_url
from headrace.runners.spark.own_package import ship_own_package
from headrace.runners.spark.startup.session import get_session

__all__ = ["DataFrame", "decoded_rows", "first_key", "joined_rows", "table_of_rows"]

Decode = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def _session() -> SparkSession:
    given: dict[str, str] = json.loads(os.environ.get(options.SETTINGS_VARIABLE) or "{}")
    spark = get_session(options.spark_settings(given), None)
    ship_own_package(spark)
    return spark


def decoded_rows(urls: Sequence[str], where: str, decode: Decode, schema: pa.Schema) -> DataFrame:
    """Return the rows of Parquet files that a condition of SQL leaves, decoded."""
    spark = _session()
    columns = from_arrow_schema(schema)
    if not urls:
        return spark.createDataFrame([], columns)
    rows = spark.read.parquet(*map(hadoop_url, urls)).where(where)
    return rows.mapInArrow(decode, columns)


def first_key(urls: Sequence[str], where: str) -> bytes | None:
    """Return the encoded key of a row that a condition of SQL leaves; None if there is none."""
    if not urls:
        return None
    row = _session().read.parquet(*map(hadoop_url, urls)).where(where).select("key").first()
    return None if row is None else bytes(row[0])


def table_of_rows(rows: Sequence[tuple[Any, ...]], ddl: str) -> DataFrame:
    """Return a table of a few rows."""
    return _session().createDataFrame(rows, ddl)


def joined_rows(
    one: Sequence[str],
    other: Sequence[str],
    keys: Sequence[str],
    keep: Decode,
    schema: pa.Schema,
    limit: int,
) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of two sets of files that ``keep`` keeps, joined by ``keys``.

    The columns ``first`` and ``second`` are their values; null: a set does not have the row.
    """
    spark = _session()
    first, second = _values(spark, one, keys, "first"), _values(spark, other, keys, "second")
    conditions: list[Column] = [first[key].eqNullSafe(second[key]) for key in keys]
    joined = first.join(second, conditions, "full_outer").select(
        *(F.coalesce(first[key], second[key]).alias(key) for key in keys), "first", "second"
    )
    changed = joined.where(~F.col("first").eqNullSafe(F.col("second")))
    found = changed.mapInArrow(keep, from_arrow_schema(schema))
    found = found.orderBy("state", "key", "namespace", "position", "item").limit(limit)
    for row in found.collect():
        yield row.asDict()


def _values(spark: SparkSession, urls: Sequence[str], keys: Sequence[str], name: str) -> DataFrame:
    if urls:
        rows = spark.read.parquet(*map(hadoop_url, urls))
    else:
        rows = spark.createDataFrame(
            [],
            "state string, key binary, namespace binary, item binary, position long, value binary",
        )
    return rows.select(*keys, F.col("value").alias(name))
