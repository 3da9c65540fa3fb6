"""The exceptions of catalogs, at PyFlink's path.

All are a ``CatalogError``. ``JavaException`` and ``TableException`` are every error of Headrace.
"""

from __future__ import annotations

from headrace.errors import CatalogError, HeadraceError

__all__ = [
    "CatalogException",
    "DatabaseAlreadyExistException",
    "DatabaseNotEmptyException",
    "DatabaseNotExistException",
    "FunctionAlreadyExistException",
    "FunctionNotExistException",
    "JavaException",
    "ModelAlreadyExistException",
    "ModelNotExistException",
    "PartitionAlreadyExistsException",
    "PartitionNotExistException",
    "PartitionSpecInvalidException",
    "TableAlreadyExistException",
    "TableException",
    "TableNotExistException",
    "TableNotPartitionedException",
]

JavaException = HeadraceError
TableException = HeadraceError
CatalogException = CatalogError


class DatabaseAlreadyExistException(CatalogError):
    """The database is there already."""


class DatabaseNotEmptyException(CatalogError):
    """The database has tables or functions, so it is not dropped."""


class DatabaseNotExistException(CatalogError):
    """There is no such database."""


class FunctionAlreadyExistException(CatalogError):
    """The function is there already."""


class FunctionNotExistException(CatalogError):
    """There is no such function."""


class PartitionAlreadyExistsException(CatalogError):
    """The partition is there already."""


class PartitionNotExistException(CatalogError):
    """There is no such partition, or its table is missing or has no partitions."""


class PartitionSpecInvalidException(CatalogError):
    """The columns of a partition are not those of its table."""


class TableAlreadyExistException(CatalogError):
    """The table or view is there already."""


class TableNotExistException(CatalogError):
    """There is no such table or view."""


class ModelAlreadyExistException(CatalogError):
    """The model is there already."""


class ModelNotExistException(CatalogError):
    """There is no such model."""


class TableNotPartitionedException(CatalogError):
    """The table has no partitions."""
