"""Lookups in PostgreSQL, with a few connections."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from headrace.common._arguments import require_non_empty, require_positive
from headrace.common.time import TimeAmount, milliseconds_of
from headrace.datastream._functions.asynchronous import AsyncFunction
from headrace.datastream._outages import Outage, OutageLog, retry_while_down_async
from headrace.datastream.connectors._external.results import Join, Key, function_or_none, joined
from headrace.datastream.connectors._postgres.client import (
    PostgresConnection,
    is_outage,
    named_row,
)


class PostgresLookup(AsyncFunction[Any, Any]):
    """Looks up the rows of a query for each record; use it with ``AsyncDataStream``.

    Fields:
        connection: ``postgresql://user@host:port/database``, or ``key=value`` pairs as for libpq.
        sql: a query with a ``%s`` for each part of the key.
        key: returns a record's key, a tuple or a single value; without it the record is the key.
        join: returns the results from a record and the rows. Without it the rows are emitted.
        password: the password, if ``connection`` does not contain it.
        connections: the maximum number of connections for each task of the operator.
        max_outage: how long a record waits for a database that does not answer. The operator's
            timeout may end the wait earlier.

    Rows are ``Row`` with the query's column names.
    """

    def __init__(
        self,
        connection: str,
        sql: str,
        key: Key | None = None,
        *,
        join: Join | None = None,
        password: str | None = None,
        connections: int = 4,
        max_outage: TimeAmount = timedelta(minutes=2),
    ) -> None:
        function_or_none(key, "key", "a PostgresLookup")
        function_or_none(join, "join", "a PostgresLookup")
        self._sql = require_non_empty(sql, "the query of a PostgresLookup")
        self._connection = PostgresConnection.of(connection, password=password)
        self._key, self._join = key, join
        self._count = require_positive(connections, "connections")
        self._patience_s = milliseconds_of(max_outage, "max_outage", at_least=0) / 1000
        self._outage_log = OutageLog()
        self._free: asyncio.LifoQueue[Any] | None = None

    def __repr__(self) -> str:
        return f"PostgresLookup({self._connection.place!r})"

    async def open(self, runtime_context: Any) -> None:  # type: ignore[override]  # either is fine
        """Prepare the lookup; connections are opened when they are needed."""
        self._free = asyncio.LifoQueue()
        for _ in range(self._count):
            self._free.put_nowait(None)

    async def close(self) -> None:  # type: ignore[override]
        """Close the unused connections."""
        while self._free is not None and not self._free.empty():
            connection = self._free.get_nowait()
            if connection is not None:
                await connection.close()

    async def async_invoke(self, value: Any) -> list[Any]:
        key = value if self._key is None else self._key(value)
        parts = key if isinstance(key, tuple | list) else (key,)
        outage = Outage(self._patience_s, self._connection.place, log=self._outage_log)
        rows = await retry_while_down_async(lambda: self._fetch_rows(parts), is_outage, outage)
        return joined(self._join, value, rows)

    async def _fetch_rows(self, parts: Sequence[Any]) -> list[Any]:
        assert self._free is not None, "the lookup is not open"
        connection = await self._free.get()
        try:
            if connection is None:
                connection = await self._connection.open_async()
            cursor = await connection.execute(self._sql, parts)
            names = [column.name for column in cursor.description or ()]
            rows = await cursor.fetchall()
        except BaseException:  # also when cancelled halfway: its state is unknown
            if connection is not None:
                await connection.close()
            connection = None
            raise
        finally:
            self._free.put_nowait(connection)
        return [named_row(names, row) for row in rows]
