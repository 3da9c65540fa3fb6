"""``TableEnvironment``: statements of SQL, tables, and the jobs that they start."""

from __future__ import annotations

from headrace.common.configuration import Configuration
from headrace.datastream.execution_mode import RuntimeExecutionMode
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.table._planning.session import SqlSession
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.table_result import TableResult

__all__ = ["TableEnvironment"]


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
        batch = not environment_settings.is_streaming_mode()
        mode = RuntimeExecutionMode.BATCH if batch else RuntimeExecutionMode.STREAMING
        env.set_runtime_mode(mode)
        session = SqlSession(
            env,
            batch=batch,
            catalog=environment_settings.get_built_in_catalog_name(),
            database=environment_settings.get_built_in_database_name(),
        )
        return TableEnvironment(session)

    def execute_sql(self, stmt: str) -> TableResult:
        """Run a statement, and return its result.

        A query starts its job when its rows are taken; an INSERT starts it at once.

        Raises:
            SqlParserError: the text is no statement.
            SqlValidationError: the statement means nothing here.
            UnsupportedError: it is not supported.
        """
        return self._session.execute(stmt)
