"""Catalogs, what they have, and the columns of tables."""

from __future__ import annotations

from headrace.common._unsupported import unsupported
from headrace.table._catalogs.catalog import Catalog
from headrace.table._catalogs.columns import (
    Column,
    ComputedColumn,
    Constraint,
    MetadataColumn,
    PhysicalColumn,
    ResolvedSchema,
    UniqueConstraint,
    WatermarkSpec,
)
from headrace.table._catalogs.objects import (
    CatalogBaseTable,
    CatalogDatabase,
    CatalogDescriptor,
    CatalogFunction,
    CatalogPartition,
)
from headrace.table._catalogs.paths import CatalogPartitionSpec, ObjectIdentifier, ObjectPath

__all__ = [
    "Catalog", "CatalogBaseTable", "CatalogColumnStatistics", "CatalogDatabase",
    "CatalogDescriptor", "CatalogFunction", "CatalogModel", "CatalogPartition",
    "CatalogPartitionSpec", "CatalogTableStatistics", "Column", "ComputedColumn", "Constraint",
    "HiveCatalog", "JdbcCatalog", "MetadataColumn", "ObjectIdentifier", "ObjectPath",
    "PhysicalColumn", "Procedure", "ResolvedSchema", "UniqueConstraint", "WatermarkSpec",
]  # fmt: skip

_STATISTICS = "plans use no statistics"
CatalogModel = unsupported("headrace.table.catalog.CatalogModel", "models are not supported")
Procedure = unsupported("headrace.table.catalog.Procedure", "there are no procedures")
CatalogTableStatistics = unsupported("headrace.table.catalog.CatalogTableStatistics", _STATISTICS)
CatalogColumnStatistics = unsupported("headrace.table.catalog.CatalogColumnStatistics", _STATISTICS)
HiveCatalog = unsupported("headrace.table.catalog.HiveCatalog", "there is no Hive")
JdbcCatalog = unsupported("headrace.table.catalog.JdbcCatalog", "there is no JDBC")
