"""What a catalog is, and one in memory."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol

from headrace.sql.catalog.objects import (
    CatalogDatabase,
    CatalogFunction,
    CatalogPartition,
    Partition,
    Relation,
)
from headrace.sql.refusals import refuse


class Catalog(Protocol):
    """Stores databases, with their tables, views and functions.

    Names are checked by ``CatalogManager``: what is read or dropped is there. Names of functions
    come in lower case.
    """

    @property
    def default_database(self) -> str:
        """The database that is current after USE CATALOG."""

    def writing(self) -> AbstractContextManager[None]:
        """Make what is read and changed inside one change."""

    def databases(self) -> list[str]:
        """Return the names of the databases."""

    def database(self, name: str) -> CatalogDatabase | None:
        """Return a database."""

    def put_database(self, name: str, database: CatalogDatabase) -> None:
        """Create or replace a database; what is in it stays."""

    def drop_database(self, name: str) -> None:
        """Drop a database with what is in it."""

    def relations(self, database: str) -> list[str]:
        """Return the names of the tables and views of a database."""

    def relation(self, database: str, name: str) -> Relation | None:
        """Return a table or view."""

    def put_relation(self, database: str, name: str, relation: Relation) -> None:
        """Create or replace a table or view."""

    def drop_relation(self, database: str, name: str) -> None:
        """Drop a table or view."""

    def functions(self, database: str) -> list[str]:
        """Return the names of the functions of a database."""

    def function(self, database: str, name: str) -> CatalogFunction | None:
        """Return a function."""

    def put_function(self, database: str, name: str, function: CatalogFunction) -> None:
        """Create or replace a function."""

    def drop_function(self, database: str, name: str) -> None:
        """Drop a function."""

    def partitions(self, database: str, table: str) -> dict[Partition, CatalogPartition]:
        """Return the declared partitions of a table."""
        return {}

    def put_partition(
        self, database: str, table: str, partition: Partition, description: CatalogPartition
    ) -> None:
        """Declare a partition, or replace its description."""
        refuse("a declared partition of a table in this catalog")

    def drop_partition(self, database: str, table: str, partition: Partition) -> None:
        """Drop a declared partition."""
        refuse("a declared partition of a table in this catalog")


@dataclass
class _Database:
    description: CatalogDatabase
    relations: dict[str, Relation] = field(default_factory=dict)
    functions: dict[str, CatalogFunction] = field(default_factory=dict)
    partitions: dict[str, dict[Partition, CatalogPartition]] = field(default_factory=dict)


class MemoryCatalog(Catalog):
    """A catalog that lives as long as the process."""

    def __init__(self, default_database: str = "default") -> None:
        self._default_database = default_database
        self._databases = {default_database: _Database(CatalogDatabase())}

    @property
    def default_database(self) -> str:
        return self._default_database

    def writing(self) -> AbstractContextManager[None]:
        return nullcontext()

    def databases(self) -> list[str]:
        return list(self._databases)

    def database(self, name: str) -> CatalogDatabase | None:
        found = self._databases.get(name)
        return None if found is None else found.description

    def put_database(self, name: str, database: CatalogDatabase) -> None:
        if name in self._databases:
            self._databases[name].description = database
        else:
            self._databases[name] = _Database(database)

    def drop_database(self, name: str) -> None:
        del self._databases[name]

    def relations(self, database: str) -> list[str]:
        return list(self._databases[database].relations)

    def relation(self, database: str, name: str) -> Relation | None:
        found = self._databases.get(database)
        return None if found is None else found.relations.get(name)

    def put_relation(self, database: str, name: str, relation: Relation) -> None:
        self._databases[database].relations[name] = relation

    def drop_relation(self, database: str, name: str) -> None:
        del self._databases[database].relations[name]
        self._databases[database].partitions.pop(name, None)

    def functions(self, database: str) -> list[str]:
        return list(self._databases[database].functions)

    def function(self, database: str, name: str) -> CatalogFunction | None:
        found = self._databases.get(database)
        return None if found is None else found.functions.get(name)

    def put_function(self, database: str, name: str, function: CatalogFunction) -> None:
        self._databases[database].functions[name] = function

    def drop_function(self, database: str, name: str) -> None:
        del self._databases[database].functions[name]

    def partitions(self, database: str, table: str) -> dict[Partition, CatalogPartition]:
        return dict(self._databases[database].partitions.get(table, {}))

    def put_partition(
        self, database: str, table: str, partition: Partition, description: CatalogPartition
    ) -> None:
        self._databases[database].partitions.setdefault(table, {})[partition] = description

    def drop_partition(self, database: str, table: str, partition: Partition) -> None:
        del self._databases[database].partitions[table][partition]
