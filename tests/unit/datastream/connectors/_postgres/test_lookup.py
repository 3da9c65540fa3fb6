"""The connections of a lookup in PostgreSQL, without a server."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from headrace.datastream.connectors.postgres import PostgresLookup


class Connection:
    """Answers each query with one row."""

    def __init__(self, opened: list[Connection]) -> None:
        self.closed = False
        opened.append(self)

    async def execute(self, sql: str, parts: Any) -> Any:
        await asyncio.sleep(0)

        async def fetchall() -> list[Any]:
            return [parts]

        return SimpleNamespace(description=[SimpleNamespace(name="id")], fetchall=fetchall)

    async def close(self) -> None:
        self.closed = True


def test_closing_closes_the_connections_that_were_opened() -> None:
    opened: list[Connection] = []

    async def open_async() -> Connection:
        return Connection(opened)

    lookup: Any = PostgresLookup("postgresql://db/shop", "SELECT %s AS id", connections=3)
    lookup._connection = SimpleNamespace(place="db", open_async=open_async)

    async def work() -> list[Any]:
        await lookup.open(None)
        found = await asyncio.gather(*(lookup.async_invoke(number) for number in (1, 2)))
        assert not any(each.closed for each in opened)
        await lookup.close()
        return found

    assert [row["id"] for (row,) in asyncio.run(work())] == [1, 2]
    assert [each.closed for each in opened] == [True] * len(opened) and 1 <= len(opened) <= 2
