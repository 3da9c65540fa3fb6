"""``TableEnvironment``: statements of SQL, tables, and the jobs that they start."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from headrace.common._unsupported import unsupported_method
from headrace.common.configuration import Configuration
from headrace.datastream.execution_mode import RuntimeExecutionMode
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.errors import SqlValidationError
from headrace.sql.aggregates.table import AGGREGATES, find_aggregate
from headrace.sql.catalog.objects import (
    CatalogDescription,
    CatalogFunction,
    CatalogTable,
    PlanView,
    kind_of,
)
from headrace.sql.parsing import parse_path
from headrace.sql.refusals import refuse
from headrace.table._api.values import table_of_trees
from headrace.table._catalogs.catalog import Catalog
from headrace.table._catalogs.objects import CatalogDescriptor
from headrace.table._expressions.trees import tree_of
from headrace.table._functions.wrappers import UserDefinedFunctionWrapper
from headrace.table._planning.elements import rows_of_elements, rows_of_frame
from headrace.table._planning.session import SqlSession
from headrace.table._stream_conversions import StreamConversions
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.explain_detail import ExplainDetail
from headrace.table.expression import Expression
from headrace.table.module import ModuleEntry
from headrace.table.statement_set import StatementSet
from headrace.table.table import PROCESS_TABLE_FUNCTIONS, Table
from headrace.table.table_config import TableConfig
from headrace.table.table_descriptor import TableDescriptor
from headrace.table.table_result import TableResult
from headrace.table.udf import (
    ImperativeAggregateFunction,
    TableAggregateFunction,
    udaf,
    udtaf,
)

if TYPE_CHECKING:
    import pandas as pd

    from headrace.table._types.data_types import DataType

__all__ = ["StreamTableEnvironment", "TableEnvironment"]

_JAVA = "there is no JVM that has the class"
_PLANS = "plans are not stored: state is found by ids of what operators compute"
_MODELS = "models are not supported"
_MODULES = "there is one module of functions: Flink's"


class TableEnvironment:
    """Runs statements over tables, in a stream or in a batch."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session

    @staticmethod
    def create(environment_settings: EnvironmentSettings | Configuration) -> TableEnvironment:
        """Return a new environment."""
        if isinstance(environment_settings, Configuration):
            environment_settings = _settings_of(environment_settings)
        env = StreamExecutionEnvironment(environment_settings.get_configuration())
        return TableEnvironment(_session(env, environment_settings))

    # Statements

    def execute_sql(self, stmt: str) -> TableResult:
        """Run a statement, and return its result.

        A query starts its job when its rows are read; an INSERT starts it at once.

        Raises:
            SqlParserError: the text is no statement.
            SqlValidationError: the statement means nothing here.
            UnsupportedError: it is not supported.
        """
        return self._session.execute(stmt)

    def sql_query(self, query: str) -> Table:
        """Return the table of a query."""
        return Table(self._session.query(query), self._session)

    def explain_sql(self, stmt: str, *extra_details: ExplainDetail) -> str:
        """Return the plan of a statement."""
        return self._session.explain_text(stmt, [each.name for each in extra_details])

    def create_statement_set(self) -> StatementSet:
        """Return an empty set of INSERTs, which run as one job."""
        return StatementSet(self._session)

    # Tables

    def from_path(self, path: str) -> Table:
        """Return a table or a view by its name."""
        full = self._session.catalogs.qualify(parse_path(path))
        return Table(self._session.queries.relation(full, {}), self._session)

    def from_descriptor(self, descriptor: TableDescriptor) -> Table:
        """Return the table of a description."""
        name = self._session.register_unnamed(descriptor._definition())
        return self.from_path(name)

    def from_elements(
        self,
        elements: Iterable[Any],
        schema: DataType | Sequence[str] | None = None,
        verify_schema: bool = True,
    ) -> Table:
        """Return a table of Python values.

        ``schema``: a ROW type, the type of a single column, or the names of the columns.
        The elements may be Expressions: ``row(1, "a")``, or values of a single column.

        Raises:
            TypeError: a value has another class than its column.
            ValueError: a value is too large, or a type cannot be seen from the values.
        """
        given = [*elements]
        expressions = [isinstance(each, Expression) for each in given]
        if any(expressions):
            if not all(expressions):
                raise ValueError("some elements are Expressions, and others are not")
            trees = [*map(tree_of, given)]
            return Table(table_of_trees(self._session.queries, trees, schema), self._session)
        columns, rows = rows_of_elements(given, schema, verify_schema)
        return Table(self._session.streams.add_values(columns, rows), self._session)

    def from_pandas(self, pdf: pd.DataFrame, schema: Any = None, splits_num: int = 1) -> Table:
        """Return a table of a DataFrame; ``schema``: a ROW type, or names, or types."""
        columns, rows = rows_of_frame(pdf, schema)
        return Table(self._session.streams.add_values(columns, rows), self._session)

    def create_temporary_table(
        self,
        path: str,
        descriptor: TableDescriptor,
        ignoreIfExists: bool = False,
    ) -> None:
        """Create a table of this environment."""
        self._create(path, descriptor._definition(), True, ignoreIfExists)

    def create_table(
        self,
        path: str,
        descriptor: TableDescriptor,
        ignoreIfExists: bool = False,
    ) -> None:
        """Create a table in a catalog."""
        self._create(path, descriptor._definition(), False, ignoreIfExists)

    def create_temporary_view(
        self, view_path: str, table_or_data_stream: Any, *fields_or_schema: Any
    ) -> None:
        """Register a table, or a stream, under a name."""
        table = table_or_data_stream
        if not isinstance(table, Table) or fields_or_schema:
            table = self._table_of_stream(table, *fields_or_schema)
        self._create(view_path, PlanView(table._rel), True, False)

    def create_view(self, view_path: str, table: Table, ignore_if_exists: bool = False) -> None:
        """Register a table under a name in a catalog."""
        self._create(view_path, PlanView(table._rel), False, ignore_if_exists)

    def _table_of_stream(self, stream: Any, *fields_or_schema: Any) -> Table:
        raise SqlValidationError(f"a Table is needed, not {stream!r}")

    def _create(
        self, path: str, relation: CatalogTable | PlanView, temporary: bool, ignore: bool
    ) -> None:
        self._session.catalogs.create_relation(
            parse_path(path), relation, temporary=temporary, if_not_exists=ignore
        )

    def drop_temporary_table(self, table_path: str) -> bool:
        """Drop a temporary table; return whether there was one."""
        return self._drop(table_path, "table", True)

    def drop_temporary_view(self, view_path: str) -> bool:
        """Drop a temporary view; return whether there was one."""
        return self._drop(view_path, "view", True)

    def drop_table(self, table_path: str, ignore_if_not_exists: bool = True) -> bool:
        """Drop a table; return whether there was one."""
        return self._drop(table_path, "table", False, ignore_if_not_exists)

    def drop_view(self, view_path: str, ignore_if_not_exists: bool = True) -> bool:
        """Drop a view; return whether there was one."""
        return self._drop(view_path, "view", False, ignore_if_not_exists)

    def _drop(self, text: str, kind: Any, temporary: bool, ignore: bool = True) -> bool:
        path, catalogs = parse_path(text), self._session.catalogs
        found = catalogs.find(path)
        known = found is not None and kind_of(found.relation) == kind
        if not known and ignore:
            return False
        if found is not None and found.temporary is not temporary and temporary:
            return False
        catalogs.drop_relation(path, kind, temporary=temporary)
        return True

    # Functions of users

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

    # Names

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

    def list_functions(self) -> list[str]:
        """Return the names of all functions."""
        from headrace.sql.functions.table import names

        built_in = {each for each in (*names(), *AGGREGATES) if each.isidentifier()}
        return sorted(built_in.union(self.list_user_defined_functions()))

    def list_user_defined_functions(self) -> list[str]:
        """Return the names of the functions of users."""
        return self._session.catalogs.functions()

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

    def get_config(self) -> TableConfig:
        """Return the options."""
        return TableConfig(self._session.env._configuration)

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

    # What functions of users need

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
    load_module = unsupported_method(_MODULES)
    unload_module = unsupported_method(_MODULES)
    list_materialized_tables = unsupported_method("materialized tables are not supported")
    list_models = unsupported_method(_MODELS)
    list_temporary_models = unsupported_method(_MODELS)
    drop_model = unsupported_method(_MODELS)
    drop_temporary_model = unsupported_method(_MODELS)
    create_model = unsupported_method(_MODELS)
    create_temporary_model = unsupported_method(_MODELS)
    from_call = unsupported_method(PROCESS_TABLE_FUNCTIONS)  # a name of PyFlink after 2.3
    load_plan = unsupported_method(_PLANS)
    compile_plan_sql = unsupported_method(_PLANS)
    execute_plan = unsupported_method(_PLANS)


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


def _settings_of(configuration: Configuration) -> EnvironmentSettings:
    return EnvironmentSettings.new_instance().with_configuration(configuration).build()


def _session(env: StreamExecutionEnvironment, settings: EnvironmentSettings) -> SqlSession:
    batch = not settings.is_streaming_mode()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH if batch else RuntimeExecutionMode.STREAMING)
    return SqlSession(
        env,
        catalog=settings.get_built_in_catalog_name(),
        database=settings.get_built_in_database_name(),
    )


class StreamTableEnvironment(StreamConversions, TableEnvironment):
    """A TableEnvironment in a program of the DataStream API."""

    @staticmethod
    def create(  # type: ignore[override]
        stream_execution_environment: StreamExecutionEnvironment | None = None,
        environment_settings: EnvironmentSettings | None = None,
    ) -> StreamTableEnvironment:
        """Return an environment whose tables belong to the job of a program.

        Without settings its mode is that of the program.
        """
        env, settings = stream_execution_environment, environment_settings
        if settings is None:
            if env is None:
                raise ValueError("a StreamExecutionEnvironment or EnvironmentSettings is needed")
            settings = _settings_of(env._configuration)
        if env is None:
            env = StreamExecutionEnvironment(settings.get_configuration())
        else:
            env._configuration.add_all(settings.get_configuration())
        return StreamTableEnvironment(_session(env, settings))
