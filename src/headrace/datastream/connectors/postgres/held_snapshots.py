"""Snapshots of databases that this process keeps open, so that others can read in them."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from headrace.datastream.connectors.postgres.client import PostgresConnection

LINGER_S = 60.0
"""How long a snapshot outlives the enumerator that was closed: a restarted job goes on in it."""


@dataclass
class _Held:
    """An open transaction, by which PostgreSQL keeps its snapshot."""

    connection: Any
    end: threading.Timer | None = None


@dataclass
class HeldSnapshots:
    """The snapshots of one process, by the database and PostgreSQL's name of the snapshot."""

    _held: dict[tuple[str, str], _Held] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, database: PostgresConnection) -> str:
        """The name of a new snapshot of what is committed by now."""
        connection = database.open()
        try:
            connection.execute("SET idle_in_transaction_session_timeout = 0")
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            (name,) = connection.execute("SELECT pg_export_snapshot()").fetchone()
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._held[database.place, name] = _Held(connection)
        return str(name)

    def connection(self, database: PostgresConnection, name: str) -> Any | None:
        """The connection that reads in a snapshot; None where this process has it no more."""
        with self._lock:
            held = self._held.get((database.place, name))
            if held is None or held.connection.closed:
                return None
            if held.end is not None:
                held.end.cancel()
                held.end = None
            return held.connection

    def release(self, database: PostgresConnection, name: str, linger_s: float = LINGER_S) -> None:
        """Let a snapshot go after a while, unless somebody asks for it until then."""
        if linger_s <= 0:
            with self._lock:
                ended = self._held.pop((database.place, name), None)
            if ended is not None:
                ended.connection.close()
            return
        with self._lock:
            held = self._held.get((database.place, name))
            if held is None or held.end is not None:
                return
            timer = threading.Timer(linger_s, self._end, (database.place, name, held))
            timer.daemon = True
            held.end = timer
            timer.start()

    def _end(self, place: str, name: str, held: _Held) -> None:
        with self._lock:
            if held.end is not threading.current_thread():
                return  # asked for at the last moment
            self._held.pop((place, name), None)
        held.connection.close()


HELD = HeldSnapshots()
