"""A service that answers over HTTP after 20 ms, and a client of it (``bench.measure.lookups``).

The client belongs to this module, and not to a function: each job's copy of a function finds it,
with its connections open.
"""

from __future__ import annotations

import asyncio
from typing import Any

SERVICE_S = 0.020
BACKLOG = 4_000


class Service(asyncio.Protocol):
    """Answers each request with the square of the number in its path, after 20 ms."""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._received = b""

    def data_received(self, data: bytes) -> None:
        *requests, self._received = (self._received + data).split(b"\r\n\r\n")
        loop = asyncio.get_running_loop()
        for request in requests:
            number = int(request.split(b" ", 2)[1][1:])
            body = b"%d" % (number * number)
            answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
            loop.call_later(SERVICE_S, self._transport.write, answer)


def serve(to_parent: Any) -> None:
    """Serve until the process is ended; sends the port."""

    async def forever() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Service, "127.0.0.1", 0, backlog=BACKLOG)
        to_parent.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(forever())


class Connection(asyncio.Protocol):
    """One connection, for one request at a time."""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._received = b""

    def ask(self, number: int) -> asyncio.Future[int]:
        """The answer to come."""
        self._answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._transport.write(b"GET /%d HTTP/1.1\r\nHost: here\r\n\r\n" % number)
        return self._answer

    def data_received(self, data: bytes) -> None:
        received = self._received = self._received + data
        head, found, body = received.partition(b"\r\n\r\n")
        if not found or len(body) < int(head.rpartition(b"Content-Length: ")[2]):
            return
        self._received = b""
        if not self._answer.done():
            self._answer.set_result(int(body))


class Client:
    """Connections to the service; as many as there were requests at once."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._free: list[Connection] = []

    async def lookup(self, number: int) -> int:
        """The square of a number."""
        if self._free:
            connection = self._free.pop()
        else:
            loop = asyncio.get_running_loop()
            _, connection = await loop.create_connection(Connection, "127.0.0.1", self._port)
        answer = await connection.ask(number)
        self._free.append(connection)
        return answer


_clients: dict[str, Client] = {}


def connect(port: int) -> None:
    """From now on lookups go to the service at this port."""
    _clients["here"] = Client(port)


async def over_http(number: int) -> int:
    """The square of a number, from the service."""
    return await _clients["here"].lookup(number)


async def asleep(number: int) -> int:
    """The square of a number, after a sleep as long as the service takes."""
    await asyncio.sleep(SERVICE_S)
    return number * number
