"""Methods of ``Catalog`` about the declared partitions of tables."""

from __future__ import annotations

from headrace.errors import CatalogError
from headrace.sql.catalog import memory
from headrace.sql.catalog import objects as sql
from headrace.table._catalogs.objects import CatalogPartition
from headrace.table._catalogs.paths import CatalogPartitionSpec, ObjectPath
from headrace.util import exceptions as errors


class CatalogPartitions:
    """The partitions of the tables of a catalog."""

    def __init__(self, catalog: memory.Catalog, name: str) -> None:
        self._catalog = catalog
        self._name = name

    def _find(self, path: ObjectPath) -> sql.Relation | None:
        return self._catalog.relation(path.get_database_name(), path.get_object_name())

    def _relation(self, path: ObjectPath) -> sql.Relation:
        found = self._find(path)
        if found is None:
            raise errors.TableNotExistException(
                f"Table (or view) {path} does not exist in Catalog {self._name}."
            )
        return found

    def list_partitions(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec | None = None
    ) -> list[CatalogPartitionSpec]:
        """Return the declared partitions, or those that have some values."""
        table = self._partitioned(table_path)
        wanted = {} if partition_spec is None else partition_spec.get_partition_spec()
        if not wanted.keys() <= {*table.partitioned_by}:
            raise self._invalid(table_path, table, wanted)
        return [
            CatalogPartitionSpec(dict(each))
            for each in self._partitions(table_path)
            if wanted.items() <= dict(each).items()
        ]

    def _partitions(self, path: ObjectPath) -> dict[sql.Partition, sql.CatalogPartition]:
        return self._catalog.partitions(path.get_database_name(), path.get_object_name())

    def _partitioned(self, path: ObjectPath) -> sql.CatalogTable:
        table = self._relation(path)
        if not isinstance(table, sql.CatalogTable) or not table.partitioned_by:
            raise errors.TableNotPartitionedException(
                f"Table {path} in catalog {self._name} is not partitioned."
            )
        return table

    def _invalid(
        self, path: ObjectPath, table: sql.CatalogTable, given: dict[str, str]
    ) -> CatalogError:
        return errors.PartitionSpecInvalidException(
            f"PartitionSpec {given} does not match partition keys {[*table.partitioned_by]}"
            f" of table {path} in catalog {self._name}."
        )

    def _found(self, path: ObjectPath, spec: CatalogPartitionSpec) -> sql.Partition | None:
        """Return the values of a declared partition, in the order of the table's columns."""
        relation = self._find(path)
        if not isinstance(relation, sql.CatalogTable):
            return None
        given = spec.get_partition_spec()
        if given.keys() != {*relation.partitioned_by} or not given:
            return None
        partition = tuple((key, given[key]) for key in relation.partitioned_by)
        return partition if partition in self._partitions(path) else None

    def _missing(self, path: ObjectPath, spec: CatalogPartitionSpec) -> CatalogError:
        return errors.PartitionNotExistException(
            f"Partition {spec} of table {path} in catalog {self._name} does not exist."
        )

    def get_partition(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogPartition:
        """Return the properties and comment of a partition."""
        found = self._found(table_path, partition_spec)
        if found is None:
            raise self._missing(table_path, partition_spec)
        return CatalogPartition(self._partitions(table_path)[found])

    def partition_exists(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> bool:
        """Return whether a partition was declared."""
        return self._found(table_path, partition_spec) is not None

    def create_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition: CatalogPartition,
        ignore_if_exists: bool,
    ) -> None:
        """Declare a partition; no connector reads what is declared."""
        with self._catalog.writing():
            table, given = self._partitioned(table_path), partition_spec.get_partition_spec()
            if given.keys() != {*table.partitioned_by}:
                raise self._invalid(table_path, table, given)
            if self._found(table_path, partition_spec) is None:
                values = tuple((key, given[key]) for key in table.partitioned_by)
                self._put_partition(table_path, values, partition)
            elif not ignore_if_exists:
                raise errors.PartitionAlreadyExistsException(
                    f"Partition {partition_spec} of table {table_path} in catalog {self._name}"
                    " already exists."
                )

    def _put_partition(
        self, path: ObjectPath, values: sql.Partition, partition: CatalogPartition
    ) -> None:
        names = path.get_database_name(), path.get_object_name()
        self._catalog.put_partition(*names, values, partition._partition)

    def drop_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        ignore_if_not_exists: bool,
    ) -> None:
        """Drop a declared partition; its files stay."""
        with self._catalog.writing():
            found = self._found(table_path, partition_spec)
            if found is not None:
                self._catalog.drop_partition(
                    table_path.get_database_name(), table_path.get_object_name(), found
                )
            elif not ignore_if_not_exists:
                raise self._missing(table_path, partition_spec)

    def alter_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        new_partition: CatalogPartition,
        ignore_if_not_exists: bool,
    ) -> None:
        """Change the properties and comment of a partition."""
        with self._catalog.writing():
            found = self._found(table_path, partition_spec)
            if found is not None:
                self._put_partition(table_path, found, new_partition)
            elif not ignore_if_not_exists:
                raise self._missing(table_path, partition_spec)
