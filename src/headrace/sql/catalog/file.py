"""A catalog in a file of statements."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from io import TextIOWrapper

from headrace.errors import CatalogError, HeadraceError
from headrace.sql.catalog.ddl import from_ddl, to_ddl
from headrace.sql.catalog.errors import did_you_mean
from headrace.sql.catalog.memory import Catalog, MemoryCatalog
from headrace.sql.catalog.objects import (
    CatalogDatabase,
    CatalogFunction,
    PlanView,
    Relation,
)

TYPE = "file"
"""The ``type`` of CREATE CATALOG."""

_HEADER = "-- Headrace catalog, version 1\n"
_OPTIONS = ("path", "default-database")

Version = tuple[int, int, int]


def open_file_catalog(name: str, options: Mapping[str, str]) -> FileCatalog:
    """Return the catalog of CREATE CATALOG with these options, without ``type``.

    Raises:
        CatalogError: an option is unknown or missing, or the file cannot be used.
    """
    for key in options:
        if key not in _OPTIONS:
            hint = did_you_mean(key, _OPTIONS)
            raise CatalogError(f"a catalog in a file has no option '{key}'", hint=hint)
    path = options.get("path", "")
    if not path:
        raise CatalogError("a catalog in a file needs the option 'path'")
    return FileCatalog(name, _local(path), options.get("default-database", "default"))


def _local(path: str) -> str:
    if path.startswith("file:"):
        path = "/" + path.removeprefix("file:").lstrip("/")
    if "://" in path:
        raise CatalogError(f"a catalog is in a file of this machine, not at {path}")
    # Not the link: it would be replaced by a file, and its lock is not that of the file.
    return os.path.realpath(path)


class FileCatalog(Catalog):
    """A catalog in one file, which several sessions may use at the same time.

    Each sees what the others have changed. A change locks ``<path>.lock``, reads the file again,
    and replaces it as a whole, so that a crash leaves the file before or after the change. What is
    in a file that cannot be read is never replaced.
    """

    def __init__(self, name: str, path: str, default_database: str) -> None:
        self._name = name
        self._path = path
        self._default_database = default_database
        self._content = MemoryCatalog(default_database)
        self._version: Version | None = None
        self._depth = 0
        folder = os.path.dirname(path)
        if not os.path.isdir(folder):
            raise CatalogError(f"the folder of the catalog's file does not exist: {folder}")
        self._read()

    # The file

    def _read(self) -> MemoryCatalog:
        """Return what is in the file now."""
        if self._depth:  # it is locked, and may have changes that are not written
            return self._content
        version = self._find_version()
        if version is None and self._version is not None:
            raise self._error("has been removed while it was in use")
        if version != self._version:
            self._content = self._load()
            self._version = version
        return self._content

    def _find_version(self) -> Version | None:
        try:
            found = os.stat(self._path)
        except FileNotFoundError:
            return None
        return (found.st_ino, found.st_mtime_ns, found.st_size)

    def _load(self) -> MemoryCatalog:
        try:
            with open(self._path, encoding="utf-8") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise self._error(f"cannot be read: {error}") from None
        if not text.startswith(_HEADER):
            raise self._error(
                "cannot be read: it is not a catalog of this version of Headrace",
                hint=f"its first line is {_HEADER.strip()!r}",
            )
        try:
            return from_ddl(text, self._name, self._default_database)
        except HeadraceError as error:
            raise self._error(f"cannot be read: {error.message}", hint=error.hint) from None

    def _error(self, problem: str, *, hint: str | None = None) -> CatalogError:
        problem = f"the file of the catalog {problem}"
        return CatalogError(problem, where={"file": self._path}, hint=hint)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Lock the file, so that what is read inside is what is changed; write it at the end.

        If an error ends the block, nothing is written.
        """
        if self._depth:
            yield
            return
        with self._lock_file() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._read()
            before = to_ddl(self._content, self._name)
            self._depth += 1
            try:
                yield
                after = to_ddl(self._content, self._name)
                if after != before or self._version is None:
                    self._replace(after)
            except BaseException:
                self._content = MemoryCatalog(self._default_database)
                self._version = self._forgotten()
                raise
            finally:
                self._depth -= 1

    def _lock_file(self) -> TextIOWrapper:
        try:
            return open(f"{self._path}.lock", "a")
        except OSError as error:
            raise self._error(f"cannot be locked: {error}") from None

    def _forgotten(self) -> Version | None:
        """Return a version that no file has, if there was one: it is read again."""
        return None if self._version is None else (0, 0, 0)

    def _replace(self, text: str) -> None:
        made = f"{self._path}.{os.getpid()}.tmp"
        try:
            mode = 0o666 if self._version is None else os.stat(self._path).st_mode & 0o777
            with open(made, "w", encoding="utf-8", opener=partial(os.open, mode=mode)) as file:
                if self._version is not None:
                    os.fchmod(file.fileno(), mode)  # whatever the umask is
                file.write(_HEADER + "\n" + text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(made, self._path)
        except OSError as error:
            raise self._error(f"cannot be written: {error}") from None
        self._version = self._find_version()

    def _change(self, change: Callable[[MemoryCatalog], None]) -> None:
        with self.writing():
            change(self._content)

    # The contract of catalogs

    @property
    def default_database(self) -> str:
        return self._default_database

    def databases(self) -> list[str]:
        return self._read().databases()

    def database(self, name: str) -> CatalogDatabase | None:
        return self._read().database(name)

    def put_database(self, name: str, database: CatalogDatabase) -> None:
        self._change(lambda content: content.put_database(name, database))

    def drop_database(self, name: str) -> None:
        self._change(lambda content: content.drop_database(name))

    def relations(self, database: str) -> list[str]:
        return self._read().relations(database)

    def relation(self, database: str, name: str) -> Relation | None:
        return self._read().relation(database, name)

    def put_relation(self, database: str, name: str, relation: Relation) -> None:
        if isinstance(relation, PlanView):
            raise CatalogError(
                f"the view {name!r} of a program is not kept in a file",
                hint="CREATE VIEW … AS, or create_temporary_view()",
            )
        self._change(lambda content: content.put_relation(database, name, relation))

    def drop_relation(self, database: str, name: str) -> None:
        self._change(lambda content: content.drop_relation(database, name))

    def functions(self, database: str) -> list[str]:
        return self._read().functions(database)

    def function(self, database: str, name: str) -> CatalogFunction | None:
        return self._read().function(database, name)

    def put_function(self, database: str, name: str, function: CatalogFunction) -> None:
        if not function.identifier:
            raise CatalogError(
                f"the function {name!r} of a program is not kept in a file",
                hint="CREATE FUNCTION … AS 'module.function' LANGUAGE PYTHON, or a temporary one",
            )
        self._change(lambda content: content.put_function(database, name, function))

    def drop_function(self, database: str, name: str) -> None:
        self._change(lambda content: content.drop_function(database, name))
