"""A sink that writes rows and a marker in one PostgreSQL transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass, field
from datetime import timedelta
from typing import Any

from headrace.common._arguments import require_at_least, require_instance, require_non_empty
from headrace.common.time import TimeAmount, milliseconds_of
from headrace.connector import (
    CommitBy,
    CommitterContext,
    DeliveryGuarantee,
    Sink,
    SinkWriter,
    WriterContext,
)
from headrace.datastream._outages import Outage, is_wrong_address, retry_while_down
from headrace.datastream.connectors._postgres.client import (
    PostgresConnection,
    is_outage,
    is_retriable,
    psycopg,
    table_name,
)
from headrace.datastream.connectors._postgres.row_errors import (
    copy_rows,
    is_about_a_row,
    is_not_adapted,
    mismatch,
    name_refused_row,
)
from headrace.datastream.connectors._postgres.statements import FieldsOf, append_sql, upsert_sql
from headrace.errors import HeadraceError, JobError, PlanError, WrongFunctionError

DEFAULT_RETRIES = 3


@dataclass(frozen=True, repr=False)
class PostgresSink(Sink):
    """Writes records as PostgreSQL rows, exactly once: into a table, or with a statement.

    Fields:
        connection: ``postgresql://user@host:port/database``, or ``key=value`` pairs as for libpq.
        table, columns: the table, and the record fields that are written to columns of these names.
        key: columns with a unique constraint. A row with the same key is replaced; without ``key``
            rows are only added.
        sql: a statement with a ``%s`` for each value, instead of table and columns.
        values: returns the values of a record for ``sql``, in order.
        password: the password, if ``connection`` does not contain it.
        batch_rows: the number of rows that are sent at once; 0 for all rows of the transaction.
        max_outage: how long a task waits for a database that does not answer, before the job fails.
        max_retries: how often a transaction is retried after a deadlock or a similar error.
        guarantee: EXACTLY_ONCE (default), or AT_LEAST_ONCE, which needs no table of markers.
        markers: the table of markers; it is created if it does not exist.

    The rows of one task and micro-batch, and their marker, are written in one transaction.

    Raises:
        PlanError: the arguments do not fit together.
        MissingExtraError: psycopg is not installed.
    """

    connection: str | PostgresConnection
    table: str | None = field(default=None, kw_only=True)
    columns: Sequence[str] = field(default=(), kw_only=True)
    key: Sequence[str] = field(default=(), kw_only=True)
    sql: str | None = field(default=None, kw_only=True)
    values: Callable[[Any], Sequence[Any]] | None = field(default=None, kw_only=True)
    password: InitVar[str | None] = field(default=None, kw_only=True)
    batch_rows: int = field(default=5000, kw_only=True)
    max_outage: TimeAmount = field(default=timedelta(minutes=2), kw_only=True)
    max_retries: int = field(default=DEFAULT_RETRIES, kw_only=True)
    guarantee: DeliveryGuarantee = field(default=DeliveryGuarantee.EXACTLY_ONCE, kw_only=True)
    markers: str = field(default="headrace_markers", kw_only=True)

    commits = CommitBy.TASK

    def __post_init__(self, password: str | None) -> None:
        require_at_least(self.batch_rows, 0, "batch_rows")
        require_at_least(self.max_retries, 0, "max_retries")
        milliseconds_of(self.max_outage, "max_outage", at_least=0)
        require_non_empty(self.markers, "markers")
        require_instance(DeliveryGuarantee, self.guarantee)
        for name in ("columns", "key"):
            given = getattr(self, name)
            if isinstance(given, str) or not all(isinstance(each, str) for each in given):
                raise PlanError(f"{name} of a PostgresSink must be a list of names, not {given!r}")
            object.__setattr__(self, name, tuple(given))
        if self.values is not None and not callable(self.values):
            raise WrongFunctionError(f"values must be a function, not {self.values!r}")
        self._check_statement_arguments()
        if not isinstance(self.connection, PostgresConnection):
            made = PostgresConnection.of(self.connection, password=password)
            object.__setattr__(self, "connection", made)

    def _check_statement_arguments(self) -> None:
        """Raise PlanError unless the sink has either a table and columns, or SQL and values."""
        if (self.sql is None) == (self.table is None):
            raise PlanError(
                "a PostgresSink takes either table and columns, or sql and values",
                hint='PostgresSink(url, table="orders", columns=["id", "price"], key=["id"])',
            )
        if self.sql is not None:
            if self.columns or self.key or self.values is None:
                raise PlanError(
                    "with sql a PostgresSink takes values, and neither columns nor key",
                    hint='PostgresSink(url, sql="... VALUES (%s)", values=lambda r: [r.id])',
                )
        elif not self.columns:
            raise PlanError(f"columns= is missing: which columns of {self.table} are written")
        elif unknown := [name for name in self.key if name not in self.columns]:
            raise PlanError(f"the key's column {unknown[0]!r} is not among the columns")

    @property
    def kind(self) -> str:
        return "postgres"

    @property
    def locator(self) -> str:
        """The database and the table."""
        return f"{self._postgres_connection.place}{f' {self.table}' if self.table else ''}"

    @property
    def _postgres_connection(self) -> PostgresConnection:
        assert isinstance(self.connection, PostgresConnection)
        return self.connection

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.locator!r})"

    def writer(self, context: WriterContext) -> SinkWriter:
        """Return a new writer; the writers of a worker process share one connection."""
        return PostgresWriter(self, context)

    def last_batch(self, context: CommitterContext) -> int | None:
        """Return the highest marker; None if the sink writes no markers."""
        if self.guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            return None
        return retry_while_down(
            lambda: self._read_highest_marker(context.sink_id), is_outage, self.outage()
        )

    def _read_highest_marker(self, sink_id: str) -> int:
        quoted = table_name(self.markers)
        with self._postgres_connection.open() as connection:
            if not _table_exists(connection, quoted):
                return -1
            asked = connection.execute(_HIGHEST.format(quoted), (sink_id,))
            found: int = asked.fetchone()[0]
            return found

    def outage(self) -> Outage:
        """Return a new time limit for work that waits for the database."""
        return Outage(milliseconds_of(self.max_outage) / 1000, self._postgres_connection.place)


class PostgresWriter(SinkWriter):
    """Collects the rows of one task, and writes them at the end of the micro-batch."""

    def __init__(self, sink: PostgresSink, context: WriterContext) -> None:
        self._sink, self._context = sink, context
        self._values = sink.values or FieldsOf(tuple(sink.columns))
        self._rows: list[Sequence[Any]] = []
        self._remaining_retries = sink.max_retries
        self._sent = slice(0)
        self._statement = sink.sql
        if sink.key:
            self._statement = upsert_sql(sink.table or "", sink.columns, sink.key)

    def write(self, values: Sequence[Any], timestamps: Sequence[int | None]) -> None:
        add, values_of = self._rows.append, self._values
        for value in values:
            try:
                add(values_of(value))
            except Exception as error:
                if not isinstance(error, HeadraceError):  # it names the record
                    error.add_note(f"the record: {value!r:.200}")
                raise

    def prepare_commit(self) -> None:
        if not self._rows:
            return
        retry_while_down(self._write_transaction, self._is_temporary, self._sink.outage())
        self._rows = []

    def abort(self) -> None:
        self._rows = []

    def _is_temporary(self, error: Exception) -> bool:
        if is_wrong_address(error, self._context):
            return False
        if is_outage(error):
            self._context.discard("connection")
            return True
        if is_retriable(error) and self._remaining_retries > 0:
            self._remaining_retries -= 1
            return True
        return False

    def _write_transaction(self) -> None:
        """Write rows and marker in one transaction, unless the marker exists.

        It may be repeated after the connection was lost, even during the commit: if the transaction
        of an earlier attempt is still open, writing the marker waits for its end.
        """
        connection = self._context.shared("connection", self._open_connection)
        try:
            self._write_unless_marked(connection)
        except Exception as error:
            if not is_about_a_row(error):
                raise
            if self._statement is not None:
                name_refused_row(error, connection, self._statement, self._rows, self._sent)
            if is_not_adapted(error):
                raise mismatch(error, self._sink.locator) from error
            raise

    def _write_unless_marked(self, connection: Any) -> None:
        """Write marker and rows in one transaction; write nothing if the marker exists."""
        sink, context = self._sink, self._context
        with connection.transaction(), connection.cursor() as cursor:
            if sink.guarantee is DeliveryGuarantee.EXACTLY_ONCE:
                row = (context.sink_id, context.partition, context.batch_id)
                cursor.execute(_MARK.format(table_name(sink.markers)), row)
                if cursor.rowcount == 0:
                    return
            self._write_rows(cursor)

    def _write_rows(self, cursor: Any) -> None:
        sink, rows = self._sink, self._rows
        if self._statement is None:
            copy_rows(cursor, append_sql(sink.table or "", sink.columns), rows)
            return
        step = sink.batch_rows or len(rows)
        for at in range(0, len(rows), step):
            self._sent = slice(at, at + step)
            cursor.executemany(self._statement, rows[self._sent])

    def _open_connection(self) -> Any:
        """Open the worker's connection, and create the table of markers if it is missing."""
        connection = self._sink._postgres_connection.open()
        # Otherwise the second of two attempts would fail instead of waiting for the marker.
        connection.isolation_level = psycopg().IsolationLevel.READ_COMMITTED
        if self._sink.guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            try:
                _create_marker_table(connection, self._sink.markers)
            except BaseException:
                connection.close()
                raise
        return connection


_MARK = """
    INSERT INTO {0} AS known (sink_id, partition, batch_id) VALUES (%s, %s, %s)
    ON CONFLICT (sink_id, partition) DO UPDATE SET batch_id = EXCLUDED.batch_id
    WHERE known.batch_id < EXCLUDED.batch_id
"""
_HIGHEST = "SELECT coalesce(max(batch_id), -1) FROM {0} WHERE sink_id = %s"
_MARKERS = """CREATE TABLE IF NOT EXISTS {0} (
    sink_id text, partition integer, batch_id bigint NOT NULL, PRIMARY KEY (sink_id, partition))"""
_LOCK = 0x6865616472616365  # "headrace" in ASCII: only one connection at a time creates the table


def _table_exists(connection: Any, quoted: str) -> bool:
    """Return whether a table exists; ``quoted`` is its quoted name."""
    found = connection.execute("SELECT to_regclass(%s)", (quoted,)).fetchone()
    return found[0] is not None


def _create_marker_table(connection: Any, name: str) -> None:
    quoted = table_name(name)
    if _table_exists(connection, quoted):
        return
    sql = _MARKERS.format(quoted)
    try:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            connection.execute(sql)
    except psycopg().errors.InsufficientPrivilege as error:
        raise JobError(
            f"the table {name} for the markers of exactly-once sinks cannot be created",
            where={"database says": str(error).strip()},
            hint=f"let a user with the right run: {' '.join(sql.split())}; "
            "or set guarantee=DeliveryGuarantee.AT_LEAST_ONCE",
        ) from None
