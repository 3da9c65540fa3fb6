"""A database snapshot that one process keeps open, and in which other processes read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.datastream.connectors._postgres.client import PostgresConnection, psycopg
from headrace.errors import CheckpointError

_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_OWN = "SELECT pg_export_snapshot(), pg_current_snapshot()::text"
_UNKNOWN = ("22023", "42704")  # an invalid snapshot name, or of no existing snapshot


@dataclass(frozen=True)
class Snapshot:
    """PostgreSQL's name of a snapshot, and the transactions that it sees.

    After a restart, a server may give the same name to another snapshot.
    """

    name: str
    sees: str


class OpenSnapshots:
    """The open transactions of this process that keep snapshots alive."""

    def __init__(self) -> None:
        self._connections: dict[Snapshot, Any] = {}

    def open_snapshot(self, connection: Any) -> Snapshot:
        """Return a snapshot of the committed data; it keeps its own connection open."""
        connection.execute("SET idle_in_transaction_session_timeout = 0")
        connection.execute(_BEGIN)
        snapshot = Snapshot(*connection.execute(_OWN).fetchone())
        self._connections[snapshot] = connection
        return snapshot

    def close_snapshot(self, snapshot: Snapshot) -> None:
        """Release a snapshot; one of another process is ignored."""
        connection = self._connections.pop(snapshot, None)
        if connection is not None:
            connection.close()


OPEN_SNAPSHOTS = OpenSnapshots()


class SnapshotClient:
    """A connection that reads in snapshots of another process; it is opened when needed."""

    def __init__(self, database: PostgresConnection) -> None:
        self._database = database
        self._connection: Any = None

    def begin(self, snapshot: Snapshot) -> Any:
        """Return the connection, in a new transaction that reads in the snapshot.

        Raises:
            CheckpointError: the snapshot no longer exists.
        """
        if self._connection is None or self._connection.closed:
            self._connection = self._database.open()
        connection = self._connection
        connection.rollback()  # an abandoned read may have left its transaction open
        connection.execute(_BEGIN)
        name = psycopg().sql.Literal(snapshot.name)
        try:
            connection.execute(psycopg().sql.SQL("SET TRANSACTION SNAPSHOT {}").format(name))
        except psycopg().Error as error:
            if error.sqlstate not in _UNKNOWN:
                raise
            raise self._snapshot_ended_error() from None
        (sees,) = connection.execute("SELECT pg_current_snapshot()::text").fetchone()
        if sees != snapshot.sees:
            raise self._snapshot_ended_error()
        return connection

    def rollback(self) -> None:
        """End the transaction."""
        if self._connection is not None and not self._connection.closed:
            self._connection.rollback()

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()

    def _snapshot_ended_error(self) -> CheckpointError:
        self.rollback()
        return CheckpointError(
            "the snapshot that the job began to read has ended; the table may have changed since",
            where={"database": self._database.place},
            hint="it lasts as long as the program that created the source; --fresh starts anew",
        )
