"""A client of WebHDFS, the HTTP interface of HDFS, with failover and repeated requests."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

_TIMEOUT_S = 60.0
_PAUSES_S = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Pauses before a request is repeated: together longer than name nodes take to change roles."""

_OTHER_NODE = ("StandbyException", "RetriableException", "SafeModeException")
_SENT_BLOCK = 1 << 20


_ERRORS: dict[str, type[OSError]] = {
    "FileNotFoundException": FileNotFoundError,
    "FileAlreadyExistsException": FileExistsError,
    "AccessControlException": PermissionError,
    "SecurityException": PermissionError,
    "ParentNotDirectoryException": NotADirectoryError,
}


_BROKEN = (http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError)
"""The exceptions of a broken connection to a data node."""


class _UntrustedError(OSError):
    """A certificate is not trusted, so the request is not repeated."""


class Address(NamedTuple):
    """The HTTP address of a name node."""

    host: str
    port: int
    is_secure: bool = False


class _Unanswered(Exception):
    """No name node has executed the request, so it can be repeated."""


@dataclass
class WebHdfs:
    """Requests to the name nodes of one HDFS.

    ``identity``: the parameters that identify the user. ``pause`` waits for a number of seconds.
    """

    service: str
    addresses: Sequence[Address]
    identity: Mapping[str, str]
    pause: Callable[[float], None] = time.sleep
    _first: int = 0
    _connections: threading.local = field(default_factory=threading.local)

    def call(
        self, method: str, operation: str, path: str, repeats: bool = True, **parameters: Any
    ) -> dict[str, Any]:
        """Send a request to the name node, and return its JSON answer.

        ``repeats``: whether the request may be repeated if its answer is lost.
        """
        status, data, _ = self._ask(method, operation, path, repeats, parameters)
        answer = _json_answer(data)
        if status >= 300:
            raise self._error(operation, path, status, answer)
        return answer

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        """Return a part of a file, from a data node; without a length, to its end."""
        part = {"offset": start} | ({} if length is None else {"length": length})

        def attempt() -> bytes:
            place = self._data_node("GET", "OPEN", path, **part)
            status, data = self._with_data_node("GET", place, None)
            if status != 200:
                raise self._error("OPEN", path, status, _json_answer(data))
            return data

        found: bytes = self._repeated(attempt, "OPEN", path)
        return found

    def write(self, path: str, content: IO[bytes]) -> None:
        """Store a file, replacing an older one; folders are created."""

        def attempt() -> None:
            content.seek(0)
            place = self._data_node("PUT", "CREATE", path, overwrite="true", noredirect="false")
            status, data = self._with_data_node("PUT", place, content)
            if status not in (200, 201):
                raise self._error("CREATE", path, status, _json_answer(data))

        self._repeated(attempt, "CREATE", path)

    def _data_node(self, method: str, operation: str, path: str, **parameters: Any) -> str:
        """Return the URL of a data node, to which the name node redirects a request."""
        status, data, location = self._ask(method, operation, path, True, parameters)
        if status != 307 or not location:
            raise self._error(operation, path, status, _json_answer(data))
        return location

    def _repeated(self, attempt: Callable[[], Any], operation: str, path: str) -> Any:
        """Call ``attempt``, and repeat it if the connection to a data node fails."""
        for pause_s in (*_PAUSES_S, None):
            try:
                return attempt()
            except _BROKEN as error:
                if pause_s is None:
                    raise OSError(f"{operation} of {path} failed: {error}") from error
                self.pause(pause_s)
        raise AssertionError

    def _ask(
        self,
        method: str,
        operation: str,
        path: str,
        repeats: bool,
        parameters: Mapping[str, Any],
    ) -> tuple[int, bytes, str | None]:
        """Return the status, the content and the location of the active name node's answer."""
        query = urlencode({"op": operation, **self.identity, **parameters})
        target = f"/webhdfs/v1{quote(path or '/')}?{query}"
        problem: object = "no address"
        for pause_s in (*_PAUSES_S, None):
            for shift in range(len(self.addresses)):
                number = (self._first + shift) % len(self.addresses)
                try:
                    answer = self._ask_one(self.addresses[number], method, target, repeats)
                except _Unanswered as error:
                    problem = error
                    continue
                remote = _json_answer(answer[1]).get("RemoteException", {})
                if answer[0] >= 400 and remote.get("exception") in _OTHER_NODE:
                    problem = remote.get("message", "")
                    continue
                self._first = number
                return answer
            if pause_s is not None:
                self.pause(pause_s)
        tried = ", ".join(f"{each.host}:{each.port}" for each in self.addresses)
        raise OSError(
            f"no name node of hdfs://{self.service} answers {operation} of {path} over WebHDFS"
            f" (tried {tried}): {str(problem).partition(chr(10))[0]}. Check"
            " dfs.namenode.http-address"
            " or https-address in Spark's Hadoop configuration"
        )

    def _ask_one(
        self, address: Address, method: str, target: str, repeats: bool
    ) -> tuple[int, bytes, str | None]:
        kept = self._kept()
        connection = kept.pop(address, None)
        is_new = connection is None
        if connection is None:
            try:
                connection = _connect(address)
            except _UntrustedError:
                raise
            except OSError as error:
                raise _Unanswered(error) from error
        try:
            connection.request(method, target)
            response = connection.getresponse()
            data = response.read()
        except (http.client.HTTPException, OSError) as error:
            connection.close()
            # The server had closed this kept-alive connection, so it did not receive the request.
            closed = isinstance(error, http.client.RemoteDisconnected | ConnectionResetError)
            if repeats or (closed and not is_new):
                raise _Unanswered(error) from error
            raise OSError(
                f"{address.host} closed a connection without an answer: {error}"
            ) from error
        if not response.will_close:
            kept[address] = connection
        else:
            connection.close()
        return response.status, data, response.getheader("Location")

    def _kept(self) -> dict[Address, http.client.HTTPConnection]:
        """Return this thread's open connections."""
        found: dict[Address, http.client.HTTPConnection] | None
        found = getattr(self._connections, "found", None)
        if found is None:
            found = self._connections.found = {}
        return found

    def _with_data_node(
        self, method: str, url: str, content: IO[bytes] | None
    ) -> tuple[int, bytes]:
        parts = urlsplit(url)
        address = Address(parts.hostname or "", parts.port or 0, parts.scheme == "https")
        connection = _connect(address)
        try:
            target = f"{parts.path}?{parts.query}"
            if content is None:
                connection.request(method, target)
            else:
                blocks = iter(lambda: content.read(_SENT_BLOCK), b"")
                connection.request(
                    method,
                    target,
                    body=blocks,
                    headers={"Content-Type": "application/octet-stream"},
                    encode_chunked=True,
                )
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def _error(self, operation: str, path: str, status: int, answer: dict[str, Any]) -> OSError:
        remote = answer.get("RemoteException", {})
        problem = str(remote.get("message") or f"HTTP status {status}").partition("\n")[0]
        if status == 401:
            problem += (
                "; HDFS with Kerberos needs a delegation token, which Spark fetches with a keytab"
                " or a ticket, but not on a standalone cluster"
            )
        what = f"{operation} of hdfs://{self.service}{path}"
        return _ERRORS.get(remote.get("exception", ""), OSError)(f"{what}: {problem}")


def _json_answer(data: bytes) -> dict[str, Any]:
    """Return the JSON object of an answer; empty if it is none."""
    try:
        found = json.loads(data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _connect(address: Address) -> http.client.HTTPConnection:
    """Return an open connection.

    Raises:
        _UntrustedError: the certificate of the address is not trusted.
    """
    if address.is_secure:
        context = ssl.create_default_context()
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            address.host, address.port, timeout=_TIMEOUT_S, context=context
        )
    else:
        connection = http.client.HTTPConnection(address.host, address.port, timeout=_TIMEOUT_S)
    try:
        connection.connect()
    except ssl.SSLCertVerificationError as error:
        raise _UntrustedError(
            f"the certificate of {address.host}:{address.port} is not trusted:"
            f" {error.verify_message}. Set SSL_CERT_FILE, for the driver and the workers, to a"
            " file with the certificate authorities to trust"
        ) from error
    return connection
