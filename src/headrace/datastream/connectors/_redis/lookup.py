"""Lookups in Redis: pipelined, over one connection."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from headrace.common._extras import optional
from headrace.common.time import TimeAmount, milliseconds_of
from headrace.connector import KeepsSecrets
from headrace.datastream._functions.asynchronous import AsyncFunction
from headrace.datastream._outages import Outage, OutageLog, retry_while_down_async
from headrace.datastream.connectors._external.addresses import without_secrets
from headrace.datastream.connectors._external.results import Join, Key, function_or_none, joined
from headrace.datastream.connectors._redis.client import (
    check_url,
    connect,
    is_outage,
    password_of,
    with_password,
)
from headrace.datastream.connectors._redis.command import RedisCommand
from headrace.errors import PlanError

_AT_ONCE = 1000
_PASSWORD = "REDISCLI_AUTH"


class RedisLookup(AsyncFunction[Any, Any], KeepsSecrets):
    """Looks up values in Redis for each record; use it with ``AsyncDataStream``.

    Fields:
        url: the address of Redis.
        key: returns the key in Redis for a record; without it the record is the key. It may also
            return a ``RedisCommand`` that reads.
        read: "GET" for strings, "HGETALL" for hashes as dicts, "HGET" with ``field``.
        join: returns the list of results from a record and the found values (a list with one
            value, or empty). Without it the found values are emitted.
        decode: True (default) decodes bytes to str.
        max_outage: how long a record waits for a Redis that does not answer, if the operator's
            timeout allows it.

    Records that wait at the same time are looked up together. With a ``LookupCache``, use the
    cache's ``key`` and ``join``; ``key`` here then receives the cache's key.
    """

    def __init__(
        self,
        url: str,
        key: Key | None = None,
        *,
        read: str = "GET",
        field: str | None = None,
        join: Join | None = None,
        decode: bool = True,
        max_outage: TimeAmount = timedelta(minutes=2),
    ) -> None:
        self._url = check_url(url)
        self._place = without_secrets(self._url)
        function_or_none(key, "key", "a RedisLookup")
        function_or_none(join, "join", "a RedisLookup")
        if read not in ("GET", "HGETALL", "HGET") or (read == "HGET") != (field is not None):
            raise PlanError(
                f"a RedisLookup reads with GET, HGETALL or HGET, not with {read!r}"
                + ("" if field is None else f" and field={field!r}"),
                hint='RedisLookup(url, read="HGET", field="name")',
            )
        optional("redis")
        self._key, self._join, self._read, self._field = key, join, read, field
        self._decode = decode
        self._patience_s = milliseconds_of(max_outage, "max_outage", at_least=0) / 1000
        self._pending: list[tuple[RedisCommand, asyncio.Future[Any]]] = []
        self._outage_log = OutageLog()
        self._client: Any = None
        self._sender: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"RedisLookup({self._place!r})"

    @property
    def secrets(self) -> Mapping[str, str]:
        """The password of Redis, under the variable name that redis-cli uses."""
        password = password_of(self._url)
        return {} if password is None else {_PASSWORD: password}

    def with_secrets(self, found: Mapping[str, str]) -> RedisLookup:
        """Return a copy with this password."""
        made = copy.copy(self)
        made._url = with_password(self._url, found.get(_PASSWORD))
        return made

    async def open(self, runtime_context: Any) -> None:  # type: ignore[override]  # either is fine
        """Create the client; the first lookup opens the connection."""
        self._client = connect(self._url, asynchronous=True)

    async def close(self) -> None:  # type: ignore[override]
        """Close the connection."""
        if self._client is not None:
            await self._client.aclose()

    async def async_invoke(self, value: Any) -> list[Any]:
        command = self._build_command(value if self._key is None else self._key(value))
        outage = Outage(self._patience_s, self._place, log=self._outage_log)
        answer = await retry_while_down_async(lambda: self._enqueue(command), is_outage, outage)
        missing = answer is None or (answer == {} and command.arguments[0] == "HGETALL")
        return joined(self._join, value, [] if missing else [self._decode_answer(answer)])

    def _build_command(self, key: Any) -> RedisCommand:
        if isinstance(key, RedisCommand):
            return key
        if self._field is None:
            return RedisCommand(self._read, key)
        return RedisCommand(self._read, key, self._field)

    def _enqueue(self, command: RedisCommand) -> asyncio.Future[Any]:
        """Return the answer to a command, which is sent together with all others that wait."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._pending.append((command, future))
        if self._sender is None or self._sender.done():
            self._sender = loop.create_task(self._send_pending())
        return future

    async def _send_pending(self) -> None:
        """Send the pending commands in pipelines, and set the results of their futures."""
        while self._pending:
            sent, self._pending = self._pending[:_AT_ONCE], self._pending[_AT_ONCE:]
            sent = [each for each in sent if not each[1].done()]  # the others were cancelled
            try:
                async with self._client.pipeline(transaction=False) as pipe:
                    for command, _ in sent:
                        pipe.execute_command(*command.arguments)
                    answers = await pipe.execute(raise_on_error=False)
            except Exception as error:  # passed to every waiting lookup, which decides
                answers = [error] * len(sent)
            for (_, future), answer in zip(sent, answers, strict=True):
                if future.done():
                    continue
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)

    def _decode_answer(self, answer: Any) -> Any:
        return _decode_bytes(answer) if self._decode else answer


def _decode_bytes(answer: Any) -> Any:
    """Decode bytes to str, also inside lists and dicts."""
    if isinstance(answer, bytes):
        return answer.decode()
    of_kind: dict[type, Callable[[Any], Any]] = {
        list: lambda parts: [_decode_bytes(part) for part in parts],
        dict: lambda parts: {_decode_bytes(k): _decode_bytes(v) for k, v in parts.items()},
    }
    kind = of_kind.get(type(answer))
    return answer if kind is None else kind(answer)
