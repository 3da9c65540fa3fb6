"""Spark's own catalog: its databases and tables, read by name; Spark makes and drops them."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, NoReturn

from headrace.errors import UnsupportedError
from headrace.sql.catalog.memory import Catalog
from headrace.sql.catalog.objects import (
    CatalogDatabase,
    CatalogFunction,
    CatalogTable,
    Relation,
)
from headrace.sql.definitions import PhysicalColumn
from headrace.table._connectors.spark.types import sql_type

if TYPE_CHECKING:
    from headrace.runners.spark.tables import SparkTables

TYPE = "spark"
"""The option ``type`` of CREATE CATALOG."""
FILE_OPTION = "option."
"""The prefix of those options of a table that are for Spark's writer."""


class SparkCatalog(Catalog):
    """The databases of a Spark session."""

    def __init__(self, tables: SparkTables) -> None:
        self._tables = tables

    @property
    def default_database(self) -> str:
        return self._tables.current_database

    def writing(self) -> AbstractContextManager[None]:
        return nullcontext()  # nothing is changed here

    def databases(self) -> list[str]:
        return self._tables.databases()

    def database(self, name: str) -> CatalogDatabase | None:
        return CatalogDatabase() if name in self.databases() else None

    def relations(self, database: str) -> list[str]:
        return self._tables.names(database)

    def relation(self, database: str, name: str) -> Relation | None:
        found = self._tables.find(database, name)
        if found is None:
            return None
        columns = tuple(
            PhysicalColumn(
                each["name"],
                sql_type(each["type"], each["nullable"], f"{found.name}.{each['name']}"),
            )
            for each in found.schema["fields"]
        )
        options = {
            "connector": "spark",
            "table": found.name,
            "provider": found.provider,
            "location": found.location,
            "schema": found.ddl,
            "bucketed": str(found.is_bucketed).lower(),
            **{FILE_OPTION + key: value for key, value in found.options.items()},
        }
        return CatalogTable(columns, tuple(options.items()), partitioned_by=found.partitioned_by)

    def functions(self, database: str) -> list[str]:
        return []

    def function(self, database: str, name: str) -> CatalogFunction | None:
        return None

    def put_database(self, name: str, database: CatalogDatabase) -> NoReturn:
        self._refuse("a database")

    def drop_database(self, name: str) -> NoReturn:
        self._refuse("a database")

    def put_relation(self, database: str, name: str, relation: Relation) -> NoReturn:
        self._refuse("a table")

    def drop_relation(self, database: str, name: str) -> NoReturn:
        self._refuse("a table")

    def put_function(self, database: str, name: str, function: CatalogFunction) -> NoReturn:
        self._refuse("a function")

    def drop_function(self, database: str, name: str) -> NoReturn:
        self._refuse("a function")

    def _refuse(self, what: str) -> NoReturn:
        raise UnsupportedError(
            f"{what} of Spark's catalog is not made, changed or dropped here",
            hint="run the statement with spark.sql(…)",
        )
