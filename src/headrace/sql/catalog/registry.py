"""The catalogs of a session by name: opened on first use, and stored for later sessions."""

from __future__ import annotations

from collections.abc import Callable

from headrace.errors import CatalogError
from headrace.sql.catalog import file
from headrace.sql.catalog.errors import missing
from headrace.sql.catalog.memory import Catalog, MemoryCatalog
from headrace.sql.catalog.objects import CatalogDescription
from headrace.sql.catalog.store import FileCatalogStore
from headrace.sql.definitions import Options
from headrace.sql.types import quote_name


def open_catalog(name: str, options: Options, others: tuple[str, ...] = ()) -> Catalog:
    """Return the catalog of CREATE CATALOG. ``others``: types that are opened elsewhere.

    Raises:
        CatalogError: there is no such type, or it has other options.
    """
    given = dict(options)
    kind = given.pop("type", None)
    if kind == "generic_in_memory":
        default_database = given.pop("default-database", "default")
        for key in given:
            raise CatalogError(f"a catalog in memory does not have the option '{key}'")
        return MemoryCatalog(default_database)
    if kind == file.TYPE:
        return file.open_file_catalog(name, given)
    types = ", ".join(map(repr, ("generic_in_memory", file.TYPE, *others)))
    problem = (
        "a catalog needs the option 'type'"
        if kind is None
        else f"there is no catalog of the type '{kind}'"
    )
    raise CatalogError(problem, hint=f"'type' can be {types}")


class CatalogRegistry:
    """Catalogs, with the options and comment of CREATE CATALOG.

    ``open_catalog`` opens a catalog with its options. ``store`` keeps the options for later
    sessions. As in Flink, they open a catalog when it is first named; until then it need not be
    reachable.
    """

    def __init__(
        self,
        open_catalog: Callable[[str, Options], Catalog] = open_catalog,
        store: FileCatalogStore | None = None,
    ) -> None:
        self._open_catalog = open_catalog
        self._store = store
        self._opened: dict[str, Catalog] = {}
        self._descriptions: dict[str, CatalogDescription] = {}
        if store is not None:
            self._descriptions = {name: store.read(name) for name in store.names()}

    def names(self) -> list[str]:
        """Return the names of the catalogs."""
        return sorted({*self._opened, *self._descriptions})

    def find(self, name: str) -> Catalog | None:
        """Return a catalog, or None."""
        if name not in self._opened and name in self._descriptions:
            self._opened[name] = self._open_catalog(name, self._descriptions[name].options)
        return self._opened.get(name)

    def catalog(self, name: str) -> Catalog:
        """Return a catalog."""
        found = self.find(name)
        if found is None:
            raise self._missing(name)
        return found

    def description(self, name: str) -> CatalogDescription:
        """Return the options and comment of CREATE CATALOG."""
        found = self._descriptions.get(name)
        if found is None and name not in self._opened:
            raise self._missing(name)
        if found is None:
            raise CatalogError(f"the catalog {quote_name(name)} was not created by CREATE CATALOG")
        return found

    def _missing(self, name: str) -> CatalogError:
        return missing("the catalog", quote_name(name), name, self.names())

    def create(
        self, name: str, description: CatalogDescription, *, if_not_exists: bool = False
    ) -> None:
        """Create a catalog from its options."""
        if if_not_exists and name in self.names():
            return
        self._check_new(name)
        self._opened[name] = self._open_catalog(name, description.options)
        self._descriptions[name] = description
        if self._store is not None:
            self._store.put(name, description)

    def register(
        self, name: str, catalog: Catalog, description: CatalogDescription | None = None
    ) -> None:
        """Add a catalog; ``description``: of CREATE CATALOG; None: it was created in another
        way."""
        self._check_new(name)
        self._opened[name] = catalog
        if description is not None:
            self._descriptions[name] = description

    def _check_new(self, name: str) -> None:
        if name in self.names():
            raise CatalogError(f"the catalog {quote_name(name)} exists already")

    def alter(self, name: str, description: CatalogDescription) -> None:
        """Change the options of a catalog, and open it again; or change its comment."""
        if description.options != self.description(name).options:
            self._opened[name] = self._open_catalog(name, description.options)
        self._descriptions[name] = description
        if self._store is not None and name in self._store.names():
            self._store.put(name, description)

    def drop(self, name: str, *, if_exists: bool = False) -> None:
        """Drop a catalog."""
        if name not in self.names():
            if if_exists:
                return
            raise self._missing(name)
        self._opened.pop(name, None)
        self._descriptions.pop(name, None)
        if self._store is not None:
            self._store.remove(name)
