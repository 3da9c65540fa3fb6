"""Names of objects in catalogs, and the values of partitions."""

from __future__ import annotations

from headrace.sql.types import needs_quotes, quote_name


class ObjectPath:
    """A database and an object in it."""

    def __init__(self, database_name: str, object_name: str) -> None:
        self._database = database_name
        self._object = object_name

    @staticmethod
    def from_string(full_name: str) -> ObjectPath:
        """Return the path of ``database.object``."""
        database, dot, name = full_name.partition(".")
        if not dot or not database or not name:
            raise ValueError(f"a path is database.object, not {full_name!r}")
        return ObjectPath(database, name)

    def get_database_name(self) -> str:
        """Return the name of the database."""
        return self._database

    def get_object_name(self) -> str:
        """Return the name of the object."""
        return self._object

    def get_full_name(self) -> str:
        """Return ``database.object``."""
        return f"{self._database}.{self._object}"

    def compare_to(self, other: ObjectPath) -> int:
        """Return a negative number, 0 or a positive one: by the full names."""
        mine, others = self.get_full_name(), other.get_full_name()
        return (mine > others) - (mine < others)

    def __str__(self) -> str:
        return self.get_full_name()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectPath) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(self.get_full_name())


class CatalogPartitionSpec:
    """The values of a partition's columns."""

    def __init__(self, partition_spec: dict[str, str]) -> None:
        self._spec = dict(partition_spec)

    def get_partition_spec(self) -> dict[str, str]:
        """Return the values."""
        return dict(self._spec)

    def __str__(self) -> str:
        return f"CatalogPartitionSpec{{{self._spec}}}"


class ObjectIdentifier:
    """The full path of an object."""

    def __init__(self, catalog_name: str, database_name: str, object_name: str) -> None:
        self._path = (catalog_name, database_name, object_name)

    @staticmethod
    def of(catalog_name: str, database_name: str, object_name: str) -> ObjectIdentifier:
        """Return the path of three names."""
        return ObjectIdentifier(catalog_name, database_name, object_name)

    def get_catalog_name(self) -> str:
        """Return the name of the catalog."""
        return self._path[0]

    def get_database_name(self) -> str:
        """Return the name of the database."""
        return self._path[1]

    def get_object_name(self) -> str:
        """Return the name of the object."""
        return self._path[2]

    def to_object_path(self) -> ObjectPath:
        """Return the path without the catalog."""
        return ObjectPath(*self._path[1:])

    def to_list(self) -> list[str]:
        """Return the three names."""
        return [*self._path]

    def as_serializable_string(self) -> str:
        """Return the path, each name in backticks."""
        return ".".join(map(quote_name, self._path))

    def as_summary_string(self) -> str:
        """Return the path, in backticks where they are needed."""
        return ".".join(quote_name(each) if needs_quotes(each) else each for each in self._path)

    def __str__(self) -> str:
        return self.as_serializable_string()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectIdentifier) and self._path == other._path

    def __hash__(self) -> int:
        return hash(self._path)
