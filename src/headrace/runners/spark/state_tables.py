"""Tables of Spark over the records of savepoints and checkpoints; values are decoded by tasks."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from headrace.common._options import catalogue as options
from headrace.common._storage.locations import hadoop_url
from headrace.errors import JobError
from headrace.runners.spark.failures import reason_in
from headrace.runners.spark.own_package import ship_own_package
from headrace.runners.spark.startup.session import get_session
from headrace.runtime.savepoint.arrow import schema_of

__all__ = [
    "DataFrame",
    "Records",
    "SparkSession",
    "decoded_rows",
    "errors_in_one_line",
    "first_record",
    "joined_rows",
    "state_session",
    "stored_records",
    "table_of_rows",
]

Decode = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

Records = Callable[[SparkSession], DataFrame | None]
"""Returns the records of an operator in one table, with the columns of ``schema_of``; or None."""


def state_session() -> SparkSession:
    """Return the session that reads state: the active one, or a new one."""
    given: dict[str, str] = json.loads(os.environ.get(options.SETTINGS_VARIABLE) or "{}")
    spark = get_session(options.spark_settings(given), None)
    ship_own_package(spark)
    return spark


@contextmanager
def errors_in_one_line(hint: str | None, hint_of_types: str) -> Iterator[None]:
    """Raise an error of Spark, or of a task, as a ``JobError`` with its reason.

    ``hint_of_types``: the hint if a column has values of several types; of others it is ``hint``.
    """
    try:
        yield
    except (PySparkException, Py4JError) as error:
        text = str(error)
        if isinstance(error, Py4JError):  # the reason follows "An error occurred while calling …"
            text = text.partition("\n: ")[2] or text
        several = "does not fit the column" in text
        raise JobError(reason_in(text), hint=hint_of_types if several else hint) from None


def stored_records(urls: Sequence[str]) -> Records:
    """Return the records of Parquet files of a savepoint."""

    def records(spark: SparkSession) -> DataFrame | None:
        return spark.read.parquet(*map(hadoop_url, urls)) if urls else None

    return records


def decoded_rows(records: Records, where: str, decode: Decode, schema: pa.Schema) -> DataFrame:
    """Return the records that a condition of SQL leaves, decoded."""
    spark = state_session()
    columns = from_arrow_schema(schema)
    found = records(spark)
    if found is None:
        return spark.createDataFrame([], columns)
    return found.where(where).mapInArrow(decode, columns)


def first_record(records: Records, where: str) -> tuple[bytes, int] | None:
    """Return the encoded key and the key group of a record that a condition of SQL leaves."""
    found = records(state_session())
    row = None if found is None else found.where(where).select("key", "key_group").first()
    return None if row is None else (bytes(row[0]), int(row[1]))


def table_of_rows(rows: Sequence[tuple[Any, ...]], ddl: str) -> DataFrame:
    """Return a table of a few rows."""
    return state_session().createDataFrame(rows, ddl)


def joined_rows(
    one: Records,
    other: Records,
    keys: Sequence[str],
    keep: Decode,
    schema: pa.Schema,
    limit: int,
) -> Iterator[Mapping[str, Any]]:
    """Yield the states of two savepoints that ``keep`` keeps, joined by ``keys``.

    The columns ``first`` and ``second`` are their values; null: a savepoint does not have the row.
    """
    spark = state_session()
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


def _values(spark: SparkSession, records: Records, keys: Sequence[str], name: str) -> DataFrame:
    found = records(spark)
    if found is None:
        found = spark.createDataFrame([], from_arrow_schema(schema_of("states")))
    # The items of a map are found by their keys, in whatever order the two have them.
    position = F.when(F.col("item").isNull(), F.col("position")).alias("position")
    columns = [position if key == "position" else F.col(key) for key in keys]
    return found.select(*columns, F.col("value").alias(name))
