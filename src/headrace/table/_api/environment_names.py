"""Methods of ``TableEnvironment`` that list names, and choose catalogs, databases and modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common._unsupported import unsupported_method
from headrace.errors import SqlValidationError
from headrace.sql.catalog.objects import CatalogDescription, kind_of
from headrace.sql.refusals import refuse
from headrace.table._catalogs.catalog import Catalog
from headrace.table._catalogs.objects import CatalogDescriptor
from headrace.table.module import ModuleEntry

if TYPE_CHECKING:
    from headrace.table._planning.session import SqlSession

_MODULES = "there is one module of functions: Flink's"


class EnvironmentNames:
    """Names of what an environment has, and its catalogs."""

    _session: SqlSession

    def list_catalogs(self) -> list[str]:
        """Return the names of the catalogs."""
        return self._session.catalogs.registry.names()

    def list_databases(self) -> list[str]:
        """Return the names of the current catalog's databases."""
        return self._session.catalogs.databases()

    def list_tables(self) -> list[str]:
        """Return the names of the current database's tables and views."""
        return self._session.catalogs.relations()

    def list_views(self) -> list[str]:
        """Return the names of the current database's views."""
        return self._listed("view", temporary_only=False)

    def list_temporary_tables(self) -> list[str]:
        """Return the names of temporary tables and views."""
        return self._listed(None, temporary_only=True)

    def list_temporary_views(self) -> list[str]:
        """Return the names of temporary views."""
        return self._listed("view", temporary_only=True)

    def _listed(self, kind: str | None, *, temporary_only: bool) -> list[str]:
        catalogs, names = self._session.catalogs, []
        for name in catalogs.relations():
            found = catalogs.relation((name,))
            if (kind is None or kind_of(found.relation) == kind) and (
                found.temporary or not temporary_only
            ):
                names.append(name)
        return names

    def list_modules(self) -> list[str]:
        """Return the names of the modules: core."""
        return ["core"]

    def list_full_modules(self) -> list[ModuleEntry]:
        """Return the modules: core, which is used."""
        return [ModuleEntry(name, True) for name in self.list_modules()]

    def use_modules(self, *module_names: str) -> None:
        """Check the names of modules, of which there is only core.

        Raises:
            SqlValidationError: a name occurs twice, or there is no such module.
            UnsupportedError: there are no names.
        """
        if not module_names:
            refuse("the functions of no module")
        for place, name in enumerate(module_names):
            if name in module_names[:place]:
                raise SqlValidationError(f"Module {name!r} appears more than once")
            if name not in self.list_modules():
                raise SqlValidationError(f"No module with name {name!r} exists")

    def get_current_catalog(self) -> str:
        """Return the name of the current catalog."""
        return self._session.catalogs.current_catalog

    def use_catalog(self, catalog_name: str) -> None:
        """Make a catalog the current one."""
        self._session.catalogs.use_catalog(catalog_name)

    def get_current_database(self) -> str:
        """Return the name of the current database."""
        return self._session.catalogs.current_database

    def use_database(self, database_name: str) -> None:
        """Make a database the current one."""
        self._session.catalogs.use_database((database_name,))

    # Catalogs

    def create_catalog(self, catalog_name: str, catalog_descriptor: CatalogDescriptor) -> None:
        """Create a catalog, as CREATE CATALOG does."""
        self._session.run(catalog_descriptor._statement(catalog_name))

    def register_catalog(self, catalog_name: str, catalog: Catalog) -> None:
        """Add a catalog of another environment."""
        given = CatalogDescription()  # its options are those of the other environment
        self._session.catalogs.registry.register(catalog_name, catalog._catalog, given)

    def get_catalog(self, catalog_name: str) -> Catalog | None:
        """Return a catalog; None: it does not exist."""
        found = self._session.catalogs.registry.find(catalog_name)
        return None if found is None else Catalog(found, catalog_name)

    # Refused

    load_module = unsupported_method(_MODULES)
    unload_module = unsupported_method(_MODULES)
