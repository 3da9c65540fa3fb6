"""The catalogs of an environment: how they are opened, and where they are stored."""

from __future__ import annotations

from functools import partial

from headrace.common._options import catalogue as options
from headrace.common._options.table import CATALOG_STORE, CATALOG_STORE_PATH
from headrace.common.configuration import Configuration
from headrace.errors import CatalogError, ConfigurationError
from headrace.sql.catalog.manager import CatalogManager
from headrace.sql.catalog.memory import Catalog
from headrace.sql.catalog.registry import CatalogRegistry, open_catalog
from headrace.sql.catalog.store import FileCatalogStore
from headrace.sql.definitions import Options
from headrace.table._connectors.spark import catalog as spark


def catalogs_of(configuration: Configuration, catalog: str, database: str) -> CatalogManager:
    """Return the catalogs of a new environment: one in memory, and those that are stored."""
    registry = CatalogRegistry(partial(_opened, configuration), _store_of(configuration))
    return CatalogManager(catalog, database, registry)


def _opened(configuration: Configuration, name: str, given: Options) -> Catalog:
    if dict(given).get("type") != spark.TYPE:
        return open_catalog(name, given, (spark.TYPE,))
    others = [key for key, _ in given if key != "type"]
    if others:
        raise CatalogError(f"a catalog of Spark has no option '{others[0]}'")
    from headrace.runners.launch import spark_tables

    return spark.SparkCatalog(spark_tables(configuration))


def _store_of(configuration: Configuration) -> FileCatalogStore | None:
    if options.read(configuration, CATALOG_STORE) != "file":
        return None
    path = options.read(configuration, CATALOG_STORE_PATH)
    if path is None:
        raise ConfigurationError(
            f"{CATALOG_STORE.key} is file, and {CATALOG_STORE_PATH.key} is missing"
        )
    return FileCatalogStore(path)
