"""Lookups over HTTP, with persistent connections."""

from __future__ import annotations

import asyncio
import copy
import http.client
import json
import re
import ssl
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from urllib.parse import quote, urlsplit

from headrace.common._arguments import require_positive
from headrace.common.time import TimeAmount, milliseconds_of
from headrace.connector import KeepsSecrets
from headrace.datastream._functions.asynchronous import AsyncFunction
from headrace.datastream._outages import Outage, OutageLog, retry_while_down_async
from headrace.datastream.connectors._external.addresses import without_secrets
from headrace.datastream.connectors._external.results import Join, Key, function_or_none, joined
from headrace.errors import JobError, PlanError

__all__ = ["HttpLookup"]

_PUBLIC_HEADERS = frozenset({"accept", "accept-language", "user-agent"})
_LATER = frozenset({408, 425, 429, 500, 502, 503, 504})
_CONNECTIONS = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}


class _LaterError(Exception):
    """The service asks to be asked again later."""


class HttpLookup(AsyncFunction[Any, Any], KeepsSecrets):
    """Looks up records at an HTTP service by GET; use it with ``AsyncDataStream``.

    Fields:
        url: the address; ``{}`` in it is the key, percent-encoded. Or a function from the key to
            the address.
        key: returns the key of a record; without it the record is the key.
        read: converts the bytes of a response to a value (default: JSON).
        join: returns the list of results from a record and the found values (a list with one
            value, or empty). Without it the found values are emitted.
        headers: sent with each request.
        connections: the maximum number for each task of the operator, each with a thread.
        answer_timeout: how long one response may take.
        max_outage: how long a record waits for a service that does not answer, or answers 408, 425,
            429, 500, 502, 503 or 504. The operator's timeout may end the wait earlier.

    404 and 410 mean that nothing was found. Any other status that is not 2xx fails the job.
    Redirects are not followed.
    """

    def __init__(
        self,
        url: str | Callable[[Any], str],
        key: Key | None = None,
        *,
        read: Callable[[bytes], Any] = json.loads,
        join: Join | None = None,
        headers: Mapping[str, str] | None = None,
        connections: int = 16,
        answer_timeout: TimeAmount = timedelta(seconds=30),
        max_outage: TimeAmount = timedelta(minutes=2),
    ) -> None:
        for function, name in ((key, "key"), (join, "join"), (read, "read")):
            function_or_none(function, name, "a HttpLookup")
        if isinstance(url, str):
            _check_url(url)
            if "{}" not in url:
                raise PlanError(
                    f"the address {without_secrets(url)} has no place for the key",
                    hint='HttpLookup("http://prices:8080/price/{}")',
                )
        self._url, self._key, self._read, self._join = url, key, read, join
        self._headers = {"Accept": "application/json", **(headers or {})}
        self._count = require_positive(connections, "connections")
        self._timeout_s = milliseconds_of(answer_timeout, "answer_timeout", at_least=1) / 1000
        self._patience_s = milliseconds_of(max_outage, "max_outage", at_least=0) / 1000
        self._threads: ThreadPoolExecutor | None = None
        self._closed = False
        self._outage_log = OutageLog()
        self._thread_local: Any = None
        self._open: list[http.client.HTTPConnection] = []

    def __repr__(self) -> str:
        return f"HttpLookup({without_secrets(self._url) if isinstance(self._url, str) else '…'!r})"

    @property
    def secrets(self) -> Mapping[str, str]:
        """The values of the headers and of the address's query, as each may be a secret."""
        headers = {
            _to_variable_name("HEADER", name): value
            for name, value in self._headers.items()
            if value and name.lower() not in _PUBLIC_HEADERS
        }
        query = urlsplit(self._url).query if isinstance(self._url, str) else ""
        values = (part.partition("=") for part in query.split("&") if "{}" not in part)
        return headers | {_to_variable_name("QUERY", name): v for name, _, v in values if v}

    def with_secrets(self, found: Mapping[str, str]) -> HttpLookup:
        """Return a copy with the secrets in ``found``; all other secrets are empty."""
        values = {**dict.fromkeys(self.secrets, ""), **found}
        made = copy.copy(self)
        made._headers = {
            name: values.get(_to_variable_name("HEADER", name), value)
            for name, value in self._headers.items()
        }
        if isinstance(self._url, str):
            parts = urlsplit(self._url)
            pairs = (part.partition("=") for part in parts.query.split("&"))
            query = "&".join(
                f"{name}{sign}{values.get(_to_variable_name('QUERY', name), value)}"
                for name, sign, value in pairs
            )
            made._url = parts._replace(query=query).geturl()
        return made

    def open(self, runtime_context: Any) -> None:
        """Start the threads; each opens its connection with its first request."""
        self._closed = False
        self._threads = ThreadPoolExecutor(self._count, "headrace http")
        self._thread_local = threading.local()

    def close(self) -> None:
        """Close the connections, and end the threads after their current request."""
        self._closed = True
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
        for connection in self._open:
            connection.close()

    async def async_invoke(self, value: Any) -> list[Any]:
        url = self._url_of_key(value if self._key is None else self._key(value))
        loop = asyncio.get_running_loop()
        outage = Outage(self._patience_s, without_secrets(url), log=self._outage_log)
        found = await retry_while_down_async(
            lambda: loop.run_in_executor(self._threads, self._look_up, url), _is_outage, outage
        )
        return joined(self._join, value, found)

    def _url_of_key(self, key: Any) -> str:
        if isinstance(self._url, str):
            return self._url.replace("{}", quote(str(key), safe=""))
        return _check_url(self._url(key))

    def _look_up(self, url: str) -> list[Any]:
        """Return the found value in a list, or an empty list. Runs in one of the threads."""
        status, body = self._request(url)
        if status in (404, 410):
            return []
        if status in _LATER:
            raise _LaterError(f"{without_secrets(url)} answers with status {status}")
        if not 200 <= status < 300:
            raise JobError(
                f"a lookup was answered with status {status}",
                where={"address": without_secrets(url), "answer": repr(body[:200])},
            )
        return [self._read(body)]

    def _request(self, url: str) -> tuple[int, bytes]:
        """Send a request; repeat it once if an idle connection turns out to be closed."""
        parts = urlsplit(url)
        path = parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
        connection, used = self._get_connection(parts.scheme, parts.netloc.rpartition("@")[2])
        try:
            return _send_request(connection, path, self._headers)
        except (http.client.HTTPException, OSError):
            connection.close()
            if not used or self._closed:
                raise  # a retry would open a connection that nobody closes
        # The service may have closed an idle connection.
        try:
            return _send_request(connection, path, self._headers)
        except BaseException:
            connection.close()
            raise

    def _get_connection(self, scheme: str, host: str) -> tuple[http.client.HTTPConnection, bool]:
        """Return this thread's connection to a host, and whether it was open before."""
        known: dict[tuple[str, str], http.client.HTTPConnection]
        known = self._thread_local.__dict__.setdefault("known", {})
        connection = known.get((scheme, host))
        if connection is None:
            options = {"context": ssl.create_default_context()} if scheme == "https" else {}
            connection = _CONNECTIONS[scheme](host, timeout=self._timeout_s, **options)
            known[scheme, host] = connection
            self._open.append(connection)
        return connection, connection.sock is not None


def _send_request(
    connection: http.client.HTTPConnection, path: str, headers: Mapping[str, str]
) -> tuple[int, bytes]:
    connection.request("GET", path, headers=dict(headers))
    answer = connection.getresponse()
    return answer.status, answer.read()


def _to_variable_name(kind: str, name: str) -> str:
    """Return the environment variable with a value of the request."""
    return f"HEADRACE_{kind}_{re.sub('[^A-Za-z0-9]', '_', name).upper()}"


def _is_outage(error: Exception) -> bool:
    if isinstance(error, ssl.SSLCertVerificationError):
        return False
    return isinstance(error, _LaterError | OSError | http.client.HTTPException)


def _check_url(url: Any) -> str:
    """Check an HTTP URL, and return it.

    Raises:
        PlanError: the argument is not an HTTP URL, or it contains a user.
    """
    if not isinstance(url, str) or urlsplit(url).scheme not in _CONNECTIONS:
        shown = without_secrets(url) if isinstance(url, str) else repr(url)
        raise PlanError(f"{shown} is not an HTTP address", hint="http://host:port/path/{}")
    if "@" in urlsplit(url).netloc:
        raise PlanError(
            f"{without_secrets(url)} has a user in it, which is not sent",
            hint='headers={"Authorization": "Basic …"}',
        )
    return url
