"""``TableEnvironment``: statements of SQL, tables, and the jobs that they start."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from headrace.common._unsupported import unsupported_method
from headrace.common.changelog_mode import ChangelogMode
from headrace.common.configuration import Configuration
from headrace.datastream.execution_mode import RuntimeExecutionMode
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.errors import SqlValidationError
from headrace.sql.catalog.objects import CatalogTable, PlanView, kind_of
from headrace.sql.refusals import refuse
from headrace.table._planning.elements import rows_of_elements, rows_of_frame
from headrace.table._planning.session import SqlSession, parsed_path
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.explain_detail import ExplainDetail
from headrace.table.statement_set import StatementSet
from headrace.table.table import Table
from headrace.table.table_config import TableConfig
from headrace.table.table_descriptor import TableDescriptor
from headrace.table.table_result import TableResult

if TYPE_CHECKING:
    import pandas as pd

    from headrace.datastream.data_stream import DataStream
    from headrace.table._types.data_types import DataType
    from headrace.table.schema import Schema

__all__ = ["StreamTableEnvironment", "TableEnvironment"]

_FUNCTIONS = "functions of users are not supported in SQL"
_JAVA = "there is no JVM that has the class"
_PLANS = "plans are not stored: a job's state goes on by ids of what it computes"
_MODELS = "models are not supported"
_MODULES = "there is one module of functions: Flink's"
_CATALOGS = "catalogs are made by CREATE CATALOG"
_WORKERS = "say it to the StreamExecutionEnvironment, or to Spark"


class TableEnvironment:
    """Runs statements over tables, in a stream or in a batch."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session

    @staticmethod
    def create(environment_settings: EnvironmentSettings | Configuration) -> TableEnvironment:
        """Return a new environment."""
        if isinstance(environment_settings, Configuration):
            builder = EnvironmentSettings.new_instance().with_configuration(environment_settings)
            if environment_settings.get_string("execution.runtime-mode", "").upper() == "BATCH":
                builder.in_batch_mode()
            environment_settings = builder.build()
        env = StreamExecutionEnvironment(environment_settings.get_configuration())
        return TableEnvironment(_session(env, environment_settings))

    # Statements

    def execute_sql(self, stmt: str) -> TableResult:
        """Run a statement, and return its result.

        A query starts its job when its rows are taken; an INSERT starts it at once.

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
        full = self._session.catalogs.qualify(parsed_path(path))
        return Table(self._session.relation(full, {}), self._session)

    def from_descriptor(self, descriptor: TableDescriptor) -> Table:
        """Return the table of a description."""
        name = self._session.register_table(descriptor._definition())
        return self.from_path(name)

    def from_elements(
        self,
        elements: Iterable[Any],
        schema: DataType | Sequence[str] | None = None,
        verify_schema: bool = True,
    ) -> Table:
        """Return a table of Python values.

        ``schema``: a ROW type, the type of a single column, or the names of the columns.

        Raises:
            TypeError: a value has another class than its column.
            ValueError: a value is too large, or a type cannot be seen from the values.
        """
        columns, rows = rows_of_elements([*elements], schema, verify_schema)
        return Table(self._session.add_values(columns, rows), self._session)

    def from_pandas(self, pdf: pd.DataFrame, schema: Any = None, splits_num: int = 1) -> Table:
        """Return a table of a DataFrame; ``schema``: a ROW type, or names, or types."""
        columns, rows = rows_of_frame(pdf, schema)
        return Table(self._session.add_values(columns, rows), self._session)

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
        if not isinstance(table, Table):
            table = self._stream_table(table, *fields_or_schema)
        self._create(view_path, PlanView(table._rel), True, False)

    def create_view(self, view_path: str, table: Table, ignore_if_exists: bool = False) -> None:
        """Register a table under a name in a catalog."""
        self._create(view_path, PlanView(table._rel), False, ignore_if_exists)

    def _stream_table(self, stream: Any, *fields_or_schema: Any) -> Table:
        raise SqlValidationError(f"a Table is needed, not {stream!r}")

    def _create(
        self, path: str, relation: CatalogTable | PlanView, temporary: bool, ignore: bool
    ) -> None:
        self._session.catalogs.create_relation(
            parsed_path(path), relation, temporary=temporary, if_not_exists=ignore
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
        path, catalogs = parsed_path(text), self._session.catalogs
        found = catalogs.find(path)
        known = found is not None and kind_of(found.relation) == kind
        if not known and ignore:
            return False
        if found is not None and found.temporary is not temporary and temporary:
            return False
        catalogs.drop_relation(path, kind, temporary=temporary)
        return True

    # Names

    def list_catalogs(self) -> list[str]:
        """Return the names of the catalogs."""
        return self._session.catalogs.catalogs()

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

        return [each for each in names() if each.isidentifier()]

    def list_user_defined_functions(self) -> list[str]:
        """Return the names of the functions of users."""
        return self._session.catalogs.functions()

    def list_modules(self) -> list[str]:
        """Return the names of the modules: core."""
        return ["core"]

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

    # Refused

    create_temporary_function = unsupported_method(_FUNCTIONS)
    create_temporary_system_function = unsupported_method(_FUNCTIONS)
    drop_temporary_function = unsupported_method(_FUNCTIONS)
    drop_temporary_system_function = unsupported_method(_FUNCTIONS)
    drop_function = unsupported_method(_FUNCTIONS)
    create_java_function = unsupported_method(_JAVA)
    create_java_temporary_function = unsupported_method(_JAVA)
    create_java_temporary_system_function = unsupported_method(_JAVA)
    create_catalog = unsupported_method(_CATALOGS)
    register_catalog = unsupported_method(_CATALOGS)
    get_catalog = unsupported_method(_CATALOGS)
    load_module = unsupported_method(_MODULES)
    unload_module = unsupported_method(_MODULES)
    use_modules = unsupported_method(_MODULES)
    list_full_modules = unsupported_method(_MODULES)
    list_materialized_tables = unsupported_method("materialized tables are not supported")
    list_models = unsupported_method(_MODELS)
    list_temporary_models = unsupported_method(_MODELS)
    drop_model = unsupported_method(_MODELS)
    drop_temporary_model = unsupported_method(_MODELS)
    create_model = unsupported_method(_MODELS)
    create_temporary_model = unsupported_method(_MODELS)
    load_plan = unsupported_method(_PLANS)
    compile_plan_sql = unsupported_method(_PLANS)
    execute_plan = unsupported_method(_PLANS)
    add_python_file = unsupported_method(_WORKERS)
    set_python_requirements = unsupported_method(_WORKERS)
    add_python_archive = unsupported_method(_WORKERS)


def _session(env: StreamExecutionEnvironment, settings: EnvironmentSettings) -> SqlSession:
    batch = not settings.is_streaming_mode()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH if batch else RuntimeExecutionMode.STREAMING)
    return SqlSession(
        env,
        catalog=settings.get_built_in_catalog_name(),
        database=settings.get_built_in_database_name(),
    )


_STREAMS = "streams as tables are not supported: use from_elements, or a connector"


class StreamTableEnvironment(TableEnvironment):
    """A TableEnvironment in a program of the DataStream API."""

    @staticmethod
    def create(  # type: ignore[override]
        stream_execution_environment: StreamExecutionEnvironment | None = None,
        environment_settings: EnvironmentSettings | None = None,
    ) -> StreamTableEnvironment:
        """Return an environment whose tables belong to the job of a program."""
        env = stream_execution_environment
        settings = environment_settings or EnvironmentSettings.in_streaming_mode()
        if env is None:
            env = StreamExecutionEnvironment(settings.get_configuration())
        else:
            env._configuration.add_all(settings.get_configuration())
        return StreamTableEnvironment(_session(env, settings))

    from_data_stream = unsupported_method(_STREAMS)
    from_changelog_stream = unsupported_method(_STREAMS)

    def to_data_stream(self, table: Table) -> DataStream:
        """Return the rows of a table as a stream, whose records are rows with names.

        Raises:
            SqlValidationError: rows of the table change.
        """
        stream, mode = self._session.stream_of(table._rel)
        if mode != ChangelogMode.insert_only():
            raise SqlValidationError(
                "to_data_stream() takes tables whose rows do not change",
                where={"the table gives": str(mode)},
                hint="to_changelog_stream() gives rows with their kinds",
            )
        return stream

    def to_changelog_stream(
        self,
        table: Table,
        target_schema: Schema | None = None,
        changelog_mode: ChangelogMode | None = None,
    ) -> DataStream:
        """Return the changes of a table as a stream of rows with names and kinds."""
        if target_schema is not None:
            refuse("a target schema of to_changelog_stream()")
        stream, mode = self._session.stream_of(table._rel)
        if not mode.is_accepted_by(changelog_mode):
            raise SqlValidationError(
                "the table gives changes that the changelog mode has not",
                where={"the table gives": str(mode), "mode": str(changelog_mode)},
            )
        return stream

    to_append_stream = unsupported_method("Flink has removed it: use to_data_stream")
    to_retract_stream = unsupported_method("Flink has removed it: use to_changelog_stream")
