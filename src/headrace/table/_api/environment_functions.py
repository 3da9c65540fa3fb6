"""Methods of ``TableEnvironment`` about functions of users."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common._unsupported import unsupported_method
from headrace.sql.aggregates.table import AGGREGATES, find_aggregate
from headrace.sql.catalog.objects import CatalogFunction
from headrace.sql.parsing import parse_path
from headrace.sql.refusals import refuse
from headrace.table._functions.wrappers import UserDefinedFunctionWrapper
from headrace.table.udf import (
    ImperativeAggregateFunction,
    TableAggregateFunction,
    udaf,
    udtaf,
)

if TYPE_CHECKING:
    from headrace.table._planning.session import SqlSession

_JAVA = "there is no JVM that has the class"


class EnvironmentFunctions:
    """The functions of an environment, and what they need."""

    _session: SqlSession

    def create_temporary_function(self, path: str, function: UserDefinedFunctionWrapper) -> None:
        """Register what ``udf`` or ``udtf`` returned, under a name in the current database."""
        made = CatalogFunction(implementation=_checked(function))
        self._session.catalogs.create_function(_path(path), made, temporary=True)

    def create_temporary_system_function(
        self, name: str, function: UserDefinedFunctionWrapper
    ) -> None:
        """Register what ``udf`` or ``udtf`` returned, under a name that hides built-in ones."""
        if find_aggregate(name) is not None:
            refuse(f"a function in place of the aggregate function {name.upper()}")
        made = CatalogFunction(implementation=_checked(function))
        self._session.catalogs.create_function((name,), made, temporary=True, system=True)

    def drop_temporary_function(self, path: str) -> bool:
        """Drop a temporary function; return whether there was one."""
        return self._session.catalogs.drop_function(_path(path), temporary=True, if_exists=True)

    def drop_temporary_system_function(self, name: str) -> bool:
        """Drop a temporary system function; return whether there was one."""
        return self._session.catalogs.drop_function(
            (name,), temporary=True, system=True, if_exists=True
        )

    def drop_function(self, path: str) -> bool:
        """Drop a function of a catalog; return whether there was one."""
        return self._session.catalogs.drop_function(_path(path), if_exists=True)

    def list_functions(self) -> list[str]:
        """Return the names of all functions."""
        from headrace.sql.functions.table import names

        built_in = {each for each in (*names(), *AGGREGATES) if each.isidentifier()}
        return sorted(built_in.union(self.list_user_defined_functions()))

    def list_user_defined_functions(self) -> list[str]:
        """Return the names of the functions of users."""
        return self._session.catalogs.functions()

    # What they need

    def add_python_file(self, file_path: str) -> None:
        """Add a .py file, a folder, or a .zip, .whl or .egg file that functions can import from."""
        self._session.env.add_python_file(file_path)

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> None:
        """Install a requirements file with pip for the functions, before they run.

        With ``requirements_cache_dir``, pip installs only from the package files in that folder.
        """
        self._session.env.set_python_requirements(requirements_file_path, requirements_cache_dir)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Extract an archive into the functions' working directory.

        The subfolder has the name ``target_dir``, or the name of the archive file.
        """
        self._session.env.add_python_archive(archive_path, target_dir)

    # Refused

    create_java_function = unsupported_method(_JAVA)
    create_java_temporary_function = unsupported_method(_JAVA)
    create_java_temporary_system_function = unsupported_method(_JAVA)


def _path(text: str) -> tuple[str, ...]:
    """Return the names of a function's path; a single name may be a word of the grammar."""
    return (text,) if text.isidentifier() else parse_path(text)


def _checked(function: object) -> UserDefinedFunctionWrapper:
    if isinstance(function, TableAggregateFunction):
        function = udtaf(function)
    elif isinstance(function, ImperativeAggregateFunction):
        function = udaf(function)
    if not isinstance(function, UserDefinedFunctionWrapper):
        raise TypeError(f"a function is what udf() or udtf() returns, not {function!r}")
    function._definition()
    return function
