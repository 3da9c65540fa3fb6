"""``Catalog``: databases, and the tables, views, functions and partitions in them."""

from __future__ import annotations

from headrace.common._unsupported import unsupported_method
from headrace.errors import CatalogError
from headrace.sql.catalog import objects as sql
from headrace.table._catalogs.objects import CatalogBaseTable, CatalogDatabase, CatalogFunction
from headrace.table._catalogs.partitions import CatalogPartitions
from headrace.table._catalogs.paths import ObjectPath
from headrace.util import exceptions as errors

_MODELS = "models are not supported"
_STATISTICS = "plans use no statistics"


class Catalog(CatalogPartitions):
    """A catalog of an environment: ``TableEnvironment.get_catalog`` returns it.

    Statements see what is created here, and the other way round. Temporary objects belong to the
    environment, not to the catalog. Errors are those of ``headrace.util.exceptions``.
    """

    # Databases

    def get_default_database(self) -> str:
        """Return the database that is current after USE CATALOG."""
        return self._catalog.default_database

    def list_databases(self) -> list[str]:
        """Return the names of the databases."""
        return self._catalog.databases()

    def get_database(self, database_name: str) -> CatalogDatabase:
        """Return a database."""
        return CatalogDatabase(self._database(database_name))

    def _database(self, name: str) -> sql.CatalogDatabase:
        found = self._catalog.database(name)
        if found is None:
            raise errors.DatabaseNotExistException(
                f"Database {name} does not exist in Catalog {self._name}."
            )
        return found

    def database_exists(self, database_name: str) -> bool:
        """Return whether there is a database."""
        return self._catalog.database(database_name) is not None

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        """Create a database."""
        with self._catalog.writing():
            if not self.database_exists(name):
                self._catalog.put_database(name, database._database)
            elif not ignore_if_exists:
                raise errors.DatabaseAlreadyExistException(
                    f"Database {name} already exists in Catalog {self._name}."
                )

    def drop_database(self, name: str, ignore_if_exists: bool) -> None:
        """Drop a database, which must be empty; ``ignore_if_exists``: it may be missing."""
        with self._catalog.writing():
            if ignore_if_exists and not self.database_exists(name):
                return
            self._database(name)
            if self._catalog.relations(name) or self._catalog.functions(name):
                raise errors.DatabaseNotEmptyException(
                    f"Database {name} in Catalog {self._name} is not empty."
                )
            self._catalog.drop_database(name)

    def alter_database(
        self, name: str, new_database: CatalogDatabase, ignore_if_not_exists: bool
    ) -> None:
        """Change the options and comment of a database."""
        with self._catalog.writing():
            if ignore_if_not_exists and not self.database_exists(name):
                return
            self._database(name)
            self._catalog.put_database(name, new_database._database)

    # Tables and views

    def list_tables(self, database_name: str) -> list[str]:
        """Return the names of the tables and views of a database."""
        self._database(database_name)
        return self._catalog.relations(database_name)

    def list_views(self, database_name: str) -> list[str]:
        """Return the names of the views of a database."""
        names = self.list_tables(database_name)
        found = ((each, self._catalog.relation(database_name, each)) for each in names)
        return [name for name, each in found if each is not None and sql.kind_of(each) == "view"]

    def list_materialized_tables(self, database_name: str) -> list[str]:
        """Return no names: there are no materialized tables."""
        self._database(database_name)
        return []

    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        """Return a table or view."""
        return CatalogBaseTable(self._relation(table_path))

    def table_exists(self, table_path: ObjectPath) -> bool:
        """Return whether there is a table or view."""
        return self._find(table_path) is not None

    def create_table(
        self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool
    ) -> None:
        """Create a table or view."""
        with self._catalog.writing():
            self._database(table_path.get_database_name())
            if not self.table_exists(table_path):
                self._put(table_path, table)
            elif not ignore_if_exists:
                raise self._table_exists(table_path)

    def _table_exists(self, path: ObjectPath) -> CatalogError:
        return errors.TableAlreadyExistException(
            f"Table (or view) {path} already exists in Catalog {self._name}."
        )

    def _put(self, path: ObjectPath, table: CatalogBaseTable) -> None:
        database = path.get_database_name()
        stored = table._in(self._name, database)
        self._catalog.put_relation(database, path.get_object_name(), stored)

    def alter_table(
        self, table_path: ObjectPath, new_table: CatalogBaseTable, ignore_if_not_exists: bool
    ) -> None:
        """Replace a table by another one, or a view by another one."""
        with self._catalog.writing():
            if ignore_if_not_exists and not self.table_exists(table_path):
                return
            before, after = (
                sql.kind_of(each) for each in (self._relation(table_path), new_table._relation)
            )
            if before != after:
                raise CatalogError(f"{table_path} is a {before}, and would be a {after}")
            self._put(table_path, new_table)

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Drop a table or view."""
        with self._catalog.writing():
            if ignore_if_not_exists and not self.table_exists(table_path):
                return
            self._relation(table_path)
            self._catalog.drop_relation(
                table_path.get_database_name(), table_path.get_object_name()
            )

    def rename_table(
        self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool
    ) -> None:
        """Rename a table or view inside its database."""
        with self._catalog.writing():
            if ignore_if_not_exists and not self.table_exists(table_path):
                return
            relation, database = self._relation(table_path), table_path.get_database_name()
            renamed = ObjectPath(database, new_table_name)
            if self.table_exists(renamed):
                raise self._table_exists(renamed)
            partitions = self._catalog.partitions(database, table_path.get_object_name())
            self._catalog.drop_relation(database, table_path.get_object_name())
            self._catalog.put_relation(database, new_table_name, relation)
            for partition, description in partitions.items():
                self._catalog.put_partition(database, new_table_name, partition, description)

    # Functions

    def list_functions(self, database_name: str) -> list[str]:
        """Return the names of the functions of a database."""
        self._database(database_name)
        return self._catalog.functions(database_name)

    def get_function(self, function_path: ObjectPath) -> CatalogFunction:
        """Return a function."""
        found = self._find_function(function_path)
        if found is None:
            raise errors.FunctionNotExistException(
                f"Function {function_path} does not exist in Catalog {self._name}."
            )
        return CatalogFunction(found)

    def _find_function(self, path: ObjectPath) -> sql.CatalogFunction | None:
        return self._catalog.function(path.get_database_name(), path.get_object_name().lower())

    def function_exists(self, function_path: ObjectPath) -> bool:
        """Return whether there is a function."""
        return self._find_function(function_path) is not None

    def create_function(
        self, function_path: ObjectPath, function: CatalogFunction, ignore_if_exists: bool
    ) -> None:
        """Create a function."""
        with self._catalog.writing():
            self._database(function_path.get_database_name())
            if not self.function_exists(function_path):
                self._put_function(function_path, function)
            elif not ignore_if_exists:
                raise errors.FunctionAlreadyExistException(
                    f"Function {function_path} already exists in Catalog {self._name}."
                )

    def _put_function(self, path: ObjectPath, function: CatalogFunction) -> None:
        name = path.get_object_name().lower()
        self._catalog.put_function(path.get_database_name(), name, function._function)

    def alter_function(
        self, function_path: ObjectPath, new_function: CatalogFunction, ignore_if_not_exists: bool
    ) -> None:
        """Replace a function by another one."""
        with self._catalog.writing():
            if ignore_if_not_exists and not self.function_exists(function_path):
                return
            self.get_function(function_path)
            self._put_function(function_path, new_function)

    def drop_function(self, function_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Drop a function."""
        with self._catalog.writing():
            if ignore_if_not_exists and not self.function_exists(function_path):
                return
            self.get_function(function_path)
            self._catalog.drop_function(
                function_path.get_database_name(), function_path.get_object_name().lower()
            )

    # Refused

    list_procedures = unsupported_method("there are no procedures")
    get_procedure = unsupported_method("there are no procedures")
    list_models = unsupported_method(_MODELS)
    get_model = unsupported_method(_MODELS)
    model_exists = unsupported_method(_MODELS)
    create_model = unsupported_method(_MODELS)
    alter_model = unsupported_method(_MODELS)
    rename_model = unsupported_method(_MODELS)
    drop_model = unsupported_method(_MODELS)
    get_table_statistics = unsupported_method(_STATISTICS)
    get_table_column_statistics = unsupported_method(_STATISTICS)
    get_partition_statistics = unsupported_method(_STATISTICS)
    bulk_get_partition_statistics = unsupported_method(_STATISTICS)
    get_partition_column_statistics = unsupported_method(_STATISTICS)
    bulk_get_partition_column_statistics = unsupported_method(_STATISTICS)
    alter_table_statistics = unsupported_method(_STATISTICS)
    alter_table_column_statistics = unsupported_method(_STATISTICS)
    alter_partition_statistics = unsupported_method(_STATISTICS)
    alter_partition_column_statistics = unsupported_method(_STATISTICS)
