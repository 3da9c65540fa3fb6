"""The tables of Spark's own catalog, as values; and their rows as DataFrames."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from headrace.runners.spark.query.appended import FORMATS
from headrace.runners.spark.startup.session import get_session

_PARTITIONING = "# Partition Information"
_DETAILS = "# Detailed Table Information"
_NO_OPTIONS = ("path", "serialization.format")


@dataclass(frozen=True)
class SparkTable:
    """A table: its name in Spark, its schema as Spark's JSON, and how it is stored.

    ``ddl``: the schema as Spark reads it. ``provider``: such as ``parquet``; empty for a view.
    ``options``: those of its files, such as the delimiter of ``csv``.
    """

    name: str
    schema: Mapping[str, Any]
    ddl: str
    provider: str = ""
    location: str = ""
    partitioned_by: tuple[str, ...] = ()
    is_bucketed: bool = False
    options: Mapping[str, str] = field(default_factory=dict)


class SparkTables:
    """Finds the tables of a session, which is started if there is none."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._spark: SparkSession = get_session(settings, None)

    @property
    def current_database(self) -> str:
        """The current database of the session."""
        return self._spark.catalog.currentDatabase()

    def databases(self) -> list[str]:
        """Return the names of the databases of the session's current catalog."""
        return [each.name for each in self._spark.catalog.listDatabases()]

    def names(self, database: str) -> list[str]:
        """Return the names of the tables and views of a database, without temporary ones."""
        found = self._spark.catalog.listTables(_quoted(database))
        return [each.name for each in found if not each.isTemporary]

    def find(self, database: str, name: str) -> SparkTable | None:
        """Return a table or view; None: there is none."""
        full = f"{_quoted(database)}.{_quoted(name)}"
        try:
            if not self._spark.catalog.tableExists(full):
                return None
        except AnalysisException:
            return None  # there is no such database
        schema = self._spark.table(full).schema
        details = self._details(full)
        ddl = ", ".join(f"{_quoted(each.name)} {_ddl(each.dataType)}" for each in schema.fields)
        provider = "" if details.get("Type") == "VIEW" else details.get("Provider", "").lower()
        return SparkTable(
            full,
            schema.jsonValue(),
            ddl,
            provider,
            details.get("Location", ""),
            tuple(details[_PARTITIONING].split("\n")) if _PARTITIONING in details else (),
            "Num Buckets" in details,
            self._options(full) if provider in FORMATS else {},
        )

    def rows(self, name: str, columns: Sequence[str]) -> DataFrame:
        """Return some columns of the rows that a table has now, by its full name."""
        self._spark.catalog.refreshTable(name)
        return self._spark.table(name).select(*map(_quoted, columns))

    def _options(self, name: str) -> dict[str, str]:
        """Return the options of CREATE TABLE for the files of a table."""
        (row,) = self._spark.sql(f"DESCRIBE TABLE EXTENDED {name} AS JSON").collect()
        found = json.loads(row.json_metadata).get("storage_properties", {})
        return {key: value for key, value in found.items() if key not in _NO_OPTIONS}

    def _details(self, name: str) -> dict[str, str]:
        """Return what DESCRIBE EXTENDED says of a table; its partition columns are lines."""
        found: dict[str, str] = {}
        part = ""
        for row in self._spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect():
            key, value = row.col_name or "", row.data_type or ""
            if key.startswith("# "):
                part = part if key == "# col_name" else key
            elif key and part == _PARTITIONING:
                known = found.get(_PARTITIONING)
                found[_PARTITIONING] = key if known is None else f"{known}\n{key}"
            elif key and part == _DETAILS:
                found[key] = value
        return found


def _ddl(kind: DataType) -> str:
    """Return a type as Spark reads it; ``simpleString`` does not quote names."""
    match kind:
        case ArrayType():
            return f"ARRAY<{_ddl(kind.elementType)}>"
        case MapType():
            return f"MAP<{_ddl(kind.keyType)}, {_ddl(kind.valueType)}>"
        case StructType():
            fields = [f"{_quoted(each.name)}: {_ddl(each.dataType)}" for each in kind.fields]
            return f"STRUCT<{', '.join(fields)}>"
    return kind.simpleString()


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
