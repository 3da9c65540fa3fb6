"""``TableEnvironment``: statements of SQL, tables, and the jobs that they start."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from headrace._lazy_exports import lazy_exports
from headrace.common._unsupported import unsupported_method
from headrace.common.configuration import Configuration
from headrace.datastream.execution_mode import RuntimeExecutionMode
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.errors import SqlValidationError
from headrace.sql.catalog.objects import (
    CatalogTable,
    PlanView,
    kind_of,
)
from headrace.sql.parsing import parse_path
from headrace.table._api.environment_functions import EnvironmentFunctions
from headrace.table._api.environment_names import EnvironmentNames
from headrace.table._api.values import table_of_trees
from headrace.table._expressions.trees import tree_of
from headrace.table._planning.elements import rows_of_elements, rows_of_frame
from headrace.table._planning.session import SqlSession
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.explain_detail import ExplainDetail
from headrace.table.expression import Expression
from headrace.table.statement_set import StatementSet
from headrace.table.table import PROCESS_TABLE_FUNCTIONS, Table
from headrace.table.table_config import TableConfig
from headrace.table.table_descriptor import TableDescriptor
from headrace.table.table_result import TableResult

if TYPE_CHECKING:
    import pandas as pd

    from headrace.table._types.data_types import DataType

__all__ = ["TableEnvironment"]

if not TYPE_CHECKING:  # type checkers find names in their defining modules
    __getattr__ = lazy_exports(__name__)

_PLANS = "plans are not stored: state is found by ids of what operators compute"
_MODELS = "models are not supported"


class TableEnvironment(EnvironmentNames, EnvironmentFunctions):
    """Runs statements over tables, in a stream or in a batch."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session

    @staticmethod
    def create(environment_settings: EnvironmentSettings | Configuration) -> TableEnvironment:
        """Return a new environment."""
        if isinstance(environment_settings, Configuration):
            environment_settings = settings_of(environment_settings)
        env = StreamExecutionEnvironment(environment_settings.get_configuration())
        return TableEnvironment(session_of(env, environment_settings))

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

    def get_config(self) -> TableConfig:
        """Return the options."""
        return TableConfig(self._session.env._configuration)

    # Refused

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


def settings_of(configuration: Configuration) -> EnvironmentSettings:
    """Return the settings that a configuration has."""
    return EnvironmentSettings.new_instance().with_configuration(configuration).build()


def session_of(env: StreamExecutionEnvironment, settings: EnvironmentSettings) -> SqlSession:
    """Return a new session in the mode of the settings."""
    batch = not settings.is_streaming_mode()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH if batch else RuntimeExecutionMode.STREAMING)
    return SqlSession(
        env,
        catalog=settings.get_built_in_catalog_name(),
        database=settings.get_built_in_database_name(),
    )
