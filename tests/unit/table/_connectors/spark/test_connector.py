"""Which tables of Spark's own catalog are written exactly once, and which are refused."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import CatalogError, UnsupportedError
from headrace.sql.types import BIGINT, STRING
from headrace.table import TableEnvironment
from tests.unit.table._planning.plans import environment
from tests.unit.table.harness import columns, sink

OF = columns(k=STRING, n=BIGINT)


def written(provider: str, *, parts: tuple[str, ...] = (), **options: str) -> Any:
    given = {"table": "`d`.`t`", "provider": provider, "location": "/data/t", "bucketed": "false"}
    given |= {"schema": "`k` string, `n` bigint", **options}
    return sink("spark", OF, given, partition_keys=parts).sink


@pytest.mark.parametrize("provider", ["parquet", "orc", "json", "csv", "text", "delta"])
def test_these_get_each_micro_batch_once(provider: str) -> None:
    made = written(provider)
    assert (made.format, made.path, made.mode) == (provider, "/data/t", "append")
    assert made.schema == "`k` string, `n` bigint"


def test_delta_knows_its_partitions_and_other_tables_do_not() -> None:
    assert written("delta", parts=("k",)).partition_by == ("k",)
    with pytest.raises(UnsupportedError, match="lists its partitions"):
        written("parquet", parts=("k",))


@pytest.mark.parametrize("provider", ["iceberg", "hive", "jdbc", "hudi", ""])
def test_others_are_refused_by_name(provider: str) -> None:
    with pytest.raises(UnsupportedError, match="exactly once") as caught:
        written(provider)
    assert (provider or "a query") in caught.value.message
    assert caught.value.where["written"] == "csv, delta, json, orc, parquet, text"


def test_buckets_and_tables_without_files_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="buckets"):
        written("parquet", bucketed="true")
    with pytest.raises(UnsupportedError, match="exactly once"):
        written("parquet", location="")


def test_the_types_of_catalogs_are_named() -> None:
    env = TableEnvironment.create(environment()._configuration)
    with pytest.raises(CatalogError) as caught:
        env.execute_sql("CREATE CATALOG c WITH ('type' = 'iceberg')")
    assert caught.value.hint == "'type' can be 'generic_in_memory', 'file', 'spark'"
