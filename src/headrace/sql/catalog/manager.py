"""The catalogs of a session, and what names mean in it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, Literal, ParamSpec, TypeVar

from headrace.errors import CatalogError
from headrace.sql.catalog.errors import did_you_mean, missing
from headrace.sql.catalog.memory import MemoryCatalog
from headrace.sql.catalog.objects import (
    CatalogDatabase,
    CatalogFunction,
    CatalogTable,
    ObjectPath,
    Relation,
    kind_of,
)
from headrace.sql.catalog.registry import CatalogRegistry
from headrace.sql.definitions import Path
from headrace.sql.types import quote_name

P = ParamSpec("P")
R = TypeVar("R")

RelationKind = Literal["table", "view"]


@dataclass(frozen=True)
class Found:
    """A table or view, with its full name."""

    path: ObjectPath
    relation: Relation
    temporary: bool


Method = Callable[Concatenate["CatalogManager", Path, P], R]


def _one_change(of: Literal["object", "database"]) -> Callable[[Method[P, R]], Method[P, R]]:
    """Have a method read and change the catalog of a path without a change of others between."""

    def decorate(method: Method[P, R]) -> Method[P, R]:
        @wraps(method)
        def changed(self: CatalogManager, path: Path, /, *args: P.args, **kwargs: P.kwargs) -> R:
            with nullcontext() if kwargs.get("temporary") else self.writing(path, of):
                return method(self, path, *args, **kwargs)

        return changed

    return decorate


class CatalogManager:
    """The catalogs of a session, its current catalog and database, and its temporary objects.

    A temporary object has priority over an object of a catalog with the same name.
    """

    def __init__(
        self,
        catalog: str = "default_catalog",
        database: str = "default_database",
        registry: CatalogRegistry | None = None,
    ) -> None:
        self.current_catalog = catalog
        self.current_database = database
        self.registry = CatalogRegistry() if registry is None else registry
        self.registry.register(catalog, MemoryCatalog(database))
        self._temporary: dict[ObjectPath, Relation] = {}
        self._temporary_functions: dict[ObjectPath, CatalogFunction] = {}
        self._system_functions: dict[str, CatalogFunction] = {}

    # Names

    def qualify(self, path: Path) -> ObjectPath:
        """Return the full name of a table, view or function."""
        if not 1 <= len(path) <= 3:
            raise CatalogError(
                f"{'.'.join(map(quote_name, path))} has {len(path)} names; catalog, database and"
                " name are three"
            )
        first = (self.current_catalog, self.current_database)[: 3 - len(path)]
        return ObjectPath(*first, *path)

    def qualify_database(self, path: Path) -> tuple[str, str]:
        """Return the catalog and the name of a database; an empty path: the current one."""
        if len(path) > 2:
            raise CatalogError(f"{'.'.join(map(quote_name, path))} is not the path of a database")
        first = (self.current_catalog, self.current_database)
        return (first[0], path[0]) if len(path) == 1 else (path[0], path[1]) if path else first

    # Catalogs

    def drop_catalog(self, name: str, *, if_exists: bool = False) -> None:
        """Drop a catalog, which is not the current one."""
        if name == self.current_catalog:
            raise CatalogError(f"the catalog {quote_name(name)} is in use", hint="USE CATALOG …")
        self.registry.drop(name, if_exists=if_exists)

    def use_catalog(self, name: str) -> None:
        """Make a catalog current, with its default database."""
        catalog = self.registry.catalog(name)
        self.current_catalog, self.current_database = name, catalog.default_database

    def writing(
        self, path: Path, of: Literal["object", "database"]
    ) -> AbstractContextManager[None]:
        """Make what is read and changed inside one change of the catalog of a path."""
        name = self.qualify(path).catalog if of == "object" else self.qualify_database(path)[0]
        catalog = self.registry.find(name)
        return nullcontext() if catalog is None else catalog.writing()

    # Databases

    def databases(self, catalog: str | None = None) -> list[str]:
        """Return the names of the databases of a catalog; None: the current one."""
        return sorted(self.registry.catalog(catalog or self.current_catalog).databases())

    def database(self, path: Path) -> CatalogDatabase:
        """Return a database."""
        catalog, name = self.qualify_database(path)
        found = self.registry.catalog(catalog).database(name)
        if found is None:
            shown = f"{quote_name(catalog)}.{quote_name(name)}"
            raise missing("the database", shown, name, self.databases(catalog))
        return found

    def use_database(self, path: Path) -> None:
        """Make a database current, with its catalog."""
        self.database(path)
        self.current_catalog, self.current_database = self.qualify_database(path)

    @_one_change("database")
    def create_database(
        self, path: Path, database: CatalogDatabase, *, if_not_exists: bool = False
    ) -> None:
        """Create a database."""
        catalog, name = self.qualify_database(path)
        if self.registry.catalog(catalog).database(name) is None:
            self.registry.catalog(catalog).put_database(name, database)
        elif not if_not_exists:
            raise CatalogError(f"the database {quote_name(name)} exists already")

    @_one_change("database")
    def replace_database(self, path: Path, database: CatalogDatabase) -> None:
        """Change the options and comment of a database."""
        self.database(path)
        catalog, name = self.qualify_database(path)
        self.registry.catalog(catalog).put_database(name, database)

    @_one_change("database")
    def drop_database(self, path: Path, *, if_exists: bool = False, cascade: bool = False) -> None:
        """Drop a database; ``cascade``: with what is in it."""
        catalog, name = self.qualify_database(path)
        owner = self.registry.catalog(catalog)
        if owner.database(name) is None and if_exists:
            return
        self.database(path)
        if (catalog, name) == (self.current_catalog, self.current_database):
            raise CatalogError(f"the database {quote_name(name)} is in use", hint="USE …")
        if not cascade and (owner.relations(name) or owner.functions(name)):
            problem = f"the database {quote_name(name)} is not empty"
            raise CatalogError(problem, hint="DROP DATABASE … CASCADE")
        owner.drop_database(name)

    # Tables and views

    def relations(self, path: Path = ()) -> list[str]:
        """Return the names of the tables and views of a database, temporary ones too."""
        self.database(path)
        catalog, name = self.qualify_database(path)
        temporary = {each.name for each in self._temporary if each[:2] == (catalog, name)}
        return sorted({*self.registry.catalog(catalog).relations(name), *temporary})

    def find(self, path: Path) -> Found | None:
        """Return the table or view of a name, or None."""
        full = self.qualify(path)
        temporary = self._temporary.get(full)
        if temporary is not None:
            return Found(full, temporary, temporary=True)
        catalog = self.registry.find(full.catalog)
        stored = None if catalog is None else catalog.relation(full.database, full.name)
        return None if stored is None else Found(full, stored, temporary=False)

    def relation(self, path: Path) -> Found:
        """Return the table or view of a name."""
        found = self.find(path)
        if found is not None:
            return found
        full = self.qualify(path)
        catalog = self.registry.catalog(full.catalog)
        self.database(full[:2])
        elsewhere = [
            f"{quote_name(each)}.{quote_name(full.name)}"
            for each in sorted(catalog.databases())
            if full.name in catalog.relations(each)
        ]
        hint = f"there is {elsewhere[0]}" if elsewhere else None
        hint = hint or did_you_mean(full.name, self.relations(full[:2]))
        raise CatalogError(f"the table or view {full} does not exist", hint=hint)

    def table(self, path: Path) -> CatalogTable:
        """Return the table of a name, which is not a view."""
        found = self.relation(path)
        if not isinstance(found.relation, CatalogTable):
            raise CatalogError(f"{found.path} is a view")
        return found.relation

    @_one_change("object")
    def create_relation(
        self,
        path: Path,
        relation: Relation,
        *,
        temporary: bool = False,
        if_not_exists: bool = False,
        replace: bool = False,
    ) -> ObjectPath:
        """Create a table or view, and return its full name."""
        full = self.qualify(path)
        before: Relation | None
        if temporary:
            before = self._temporary.get(full)
        else:
            self.database(full[:2])
            before = self.registry.catalog(full.catalog).relation(full.database, full.name)
        if before is not None and not replace:
            if if_not_exists:
                return full
            problem = f"the {kind_of(before)} {full} exists already"
            raise CatalogError(problem, hint=f"CREATE … IF NOT EXISTS, or DROP {kind_of(before)}")
        if before is not None and kind_of(before) != kind_of(relation):
            raise CatalogError(f"{full} is a {kind_of(before)}")
        self._put(full, relation, temporary=temporary)
        return full

    def _put(self, path: ObjectPath, relation: Relation, *, temporary: bool) -> None:
        if temporary:
            self._temporary[path] = relation
        else:
            self.registry.catalog(path.catalog).put_relation(path.database, path.name, relation)

    @_one_change("object")
    def drop_relation(
        self,
        path: Path,
        kind: RelationKind,
        *,
        temporary: bool = False,
        if_exists: bool = False,
    ) -> None:
        """Drop a table or view."""
        full = self.qualify(path)
        found = self._temporary.get(full)
        if temporary:
            if found is not None and kind_of(found) == kind:
                del self._temporary[full]
            elif not if_exists:
                names = [each.name for each in self._temporary]
                raise missing(f"the temporary {kind}", full, full.name, names)
            return
        if found is not None:
            problem = f"{full} is hidden by a temporary {kind_of(found)}"
            hint = f"DROP TEMPORARY {kind_of(found).upper()} drops that one"
            raise CatalogError(problem, hint=hint)
        catalog = self.registry.find(full.catalog)
        stored = None if catalog is None else catalog.relation(full.database, full.name)
        if stored is None or kind_of(stored) != kind:
            if if_exists:
                return
            other = kind_of(self.relation(path).relation)
            raise CatalogError(f"{full} is a {other}", hint=f"DROP {other.upper()} drops it")
        self.registry.catalog(full.catalog).drop_relation(full.database, full.name)

    def stored(self, path: Path, kind: RelationKind) -> Found:
        """Return a table or view that may be changed: it is in a catalog."""
        found = self.relation(path)
        if found.temporary:
            raise CatalogError(f"{found.path} is temporary, so it cannot be changed")
        if kind_of(found.relation) != kind:
            raise CatalogError(f"{found.path} is a {kind_of(found.relation)}")
        return found

    def replace_relation(self, path: ObjectPath, relation: Relation) -> None:
        """Change a table or view that is in a catalog."""
        self._put(path, relation, temporary=False)

    @_one_change("object")
    def rename_relation(self, path: Path, kind: RelationKind, target: Path) -> None:
        """Rename a table or view, inside its database."""
        found = self.stored(path, kind)
        first = found.path[: 3 - len(target)]
        renamed = ObjectPath(*first, *target)
        if renamed[:2] != found.path[:2]:
            raise CatalogError(f"{found.path} can be renamed only inside its database")
        catalog = self.registry.catalog(renamed.catalog)
        if catalog.relation(renamed.database, renamed.name) is not None:
            raise CatalogError(f"{renamed} exists already")
        catalog.put_relation(renamed.database, renamed.name, found.relation)
        catalog.drop_relation(found.path.database, found.path.name)

    # Functions

    def functions(self, path: Path = ()) -> list[str]:
        """Return the names of the user's functions in a database, temporary ones too."""
        self.database(path)
        catalog, name = self.qualify_database(path)
        temporary = {each.name for each in self._temporary_functions if each[:2] == (catalog, name)}
        stored = self.registry.catalog(catalog).functions(name)
        return sorted({*stored, *temporary, *self._system_functions})

    def system_function(self, name: str) -> CatalogFunction | None:
        """Return a temporary system function, which hides a built-in one."""
        return self._system_functions.get(name.lower())

    def function(self, path: Path) -> CatalogFunction | None:
        """Return a function of the user that is no system function, temporary ones first."""
        full = _lower(self.qualify(path))
        temporary = self._temporary_functions.get(full)
        if temporary is not None:
            return temporary
        catalog = self.registry.find(full.catalog)
        return None if catalog is None else catalog.function(full.database, full.name)

    def found_function(self, path: Path) -> tuple[CatalogFunction, bool, bool] | None:
        """Return the function of a name, whether it is a system function, and whether temporary."""
        system = self.system_function(path[0]) if len(path) == 1 else None
        if system is not None:
            return system, True, True
        found = self.function(path)
        temporary = _lower(self.qualify(path)) in self._temporary_functions
        return None if found is None else (found, False, temporary)

    @_one_change("object")
    def create_function(
        self,
        path: Path,
        function: CatalogFunction,
        *,
        temporary: bool = False,
        system: bool = False,
        if_not_exists: bool = False,
        replace: bool = False,
    ) -> None:
        """Create a function, or change one (``replace``)."""
        if system and len(path) > 1:
            raise CatalogError("a system function has no catalog and database")
        full = _lower(self.qualify(path))
        if system:
            before = self._system_functions.get(full.name)
        elif temporary:
            before = self._temporary_functions.get(full)
        else:
            self.database(full[:2])
            before = self.registry.catalog(full.catalog).function(full.database, full.name)
        if before is not None and not replace:
            if if_not_exists:
                return
            raise CatalogError(f"the function {full if not system else path[0]} exists already")
        if before is None and replace:
            raise missing("the function", full, full.name, self.functions(full[:2]))
        if system:
            self._system_functions[full.name] = function
        elif temporary:
            self._temporary_functions[full] = function
        else:
            self.registry.catalog(full.catalog).put_function(full.database, full.name, function)

    @_one_change("object")
    def drop_function(
        self,
        path: Path,
        *,
        temporary: bool = False,
        system: bool = False,
        if_exists: bool = False,
    ) -> bool:
        """Drop a function; return whether there was one."""
        full = _lower(self.qualify(path))
        if system:
            gone = self._system_functions.pop(full.name, None)
        elif temporary:
            gone = self._temporary_functions.pop(full, None)
        else:
            catalog = self.registry.find(full.catalog)
            gone = None if catalog is None else catalog.function(full.database, full.name)
            if catalog is not None and gone is not None:
                catalog.drop_function(full.database, full.name)
        if gone is None and not if_exists:
            kind = "temporary system " if system else "temporary " if temporary else ""
            shown = quote_name(full.name) if system else full
            raise missing(f"the {kind}function", shown, full.name, self.functions())
        return gone is not None


def _lower(path: ObjectPath) -> ObjectPath:
    return path._replace(name=path.name.lower())
