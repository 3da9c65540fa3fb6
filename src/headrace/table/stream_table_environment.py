"""``StreamTableEnvironment``: streams as tables, and tables as streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.common.changelog_mode import ChangelogMode
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.errors import SqlValidationError
from headrace.table._api.named_fields import named_table
from headrace.table._planning.data_streams import DeclaredTable
from headrace.table._planning.table_streams import (
    append_stream,
    changelog_stream,
    retract_stream,
)
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.schema import Schema
from headrace.table.table import Table
from headrace.table.table_environment import TableEnvironment, session_of, settings_of

if TYPE_CHECKING:
    from headrace.common.typeinfo import TypeInformation
    from headrace.common.types import Row
    from headrace.table.expression import Expression


class StreamTableEnvironment(TableEnvironment):
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
            settings = settings_of(env._configuration)
        if env is None:
            env = StreamExecutionEnvironment(settings.get_configuration())
        else:
            env._configuration.add_all(settings.get_configuration())
        return StreamTableEnvironment(session_of(env, settings))

    def from_data_stream(
        self, data_stream: DataStream, *fields_or_schema: Expression[Any] | Schema
    ) -> Table:
        """Return the table of a stream's records, which are all inserts.

        ``fields_or_schema``: a schema; or names of columns, ``col('a')``, which are fields of the
        records or, if none is, new names for them by place. Without these, columns are those of
        the records' declared type. The event time of the stream is in no column, unless
        ``column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")`` declares it; its watermarks are those
        of the table with ``watermark("rowtime", "SOURCE_WATERMARK()")``.

        Raises:
            SqlValidationError: the schema, or a name, does not fit the records.
            UnsupportedError: tables have no columns of the records' type, or it is not declared.
        """
        return self._table_of_stream(data_stream, *fields_or_schema)

    def from_changelog_stream(
        self,
        data_stream: DataStream,
        schema: Schema | None = None,
        changelog_mode: ChangelogMode | None = None,
    ) -> Table:
        """Return the table that the rows of a stream change, by their row kinds.

        ``changelog_mode``: which kinds there are; with upserts the schema has a primary key.

        Raises:
            SqlValidationError: the schema or the mode does not fit.
            UnsupportedError: as ``from_data_stream``.
        """
        declared = DeclaredTable(self._session, _checked(data_stream), schema)
        return Table(declared.changed(changelog_mode or ChangelogMode.all()), self._session)

    def _table_of_stream(self, stream: Any, *fields_or_schema: Any) -> Table:
        session, given = self._session, _checked(stream)
        if not fields_or_schema or isinstance(fields_or_schema[0], Schema):
            if len(fields_or_schema) > 1:
                raise SqlValidationError("one Schema is given, or expressions")
            return Table(DeclaredTable(session, given, *fields_or_schema).rel(), session)
        return Table(named_table(session, given, fields_or_schema), session)

    def to_data_stream(self, table: Table) -> DataStream:
        """Return the rows of a table as a stream, whose records are rows with names.

        Their timestamps are those of the table's event time, whose watermarks the stream has.

        Raises:
            SqlValidationError: rows of the table change, or it has more than one event time.
        """
        return append_stream(self._session.planner, table._rel)

    def to_changelog_stream(
        self,
        table: Table,
        target_schema: Schema | None = None,
        changelog_mode: ChangelogMode | None = None,
    ) -> DataStream:
        """Return the changes of a table as a stream of rows with names and kinds.

        ``target_schema``: the columns, by name; a column of the metadata ``rowtime`` is the
        timestamp of the record, and not in it. ``changelog_mode``: which kinds there may be; with
        upserts the schema has a primary key, and rows that are replaced are not given.

        Raises:
            SqlValidationError: the table gives other changes, or its columns do not fit.
        """
        return changelog_stream(self._session.planner, table._rel, target_schema, changelog_mode)

    def to_append_stream(self, table: Table, type_info: TypeInformation) -> DataStream:
        """Return the rows of a table as a stream of records of a type, by place.

        Raises:
            SqlValidationError: rows of the table change.
        """
        return append_stream(self._session.planner, table._rel).map(_values_of, type_info)

    def to_retract_stream(self, table: Table, type_info: TypeInformation) -> DataStream:
        """Return the changes of a table as pairs: whether a row is added, and the row."""
        return retract_stream(self._session.planner, table._rel, type_info)


def _values_of(row: Row) -> tuple[Any, ...]:
    return tuple(row)


def _checked(stream: Any) -> DataStream:
    if not isinstance(stream, DataStream):
        raise SqlValidationError(f"a DataStream is needed, not {stream!r:.100}")
    return stream
