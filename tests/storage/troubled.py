"""A proxy before a storage's HTTP interface, which can be slow or answer with errors."""

from __future__ import annotations

import http.client
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from headrace.dev.ports import HOST
from tests.storage.servers import Storage

_ADDRESSES = ("fs.s3a.endpoint", "dfs.namenode.http-address")
_CONNECTION = ("connection", "keep-alive", "transfer-encoding")
_SLOW_DOWN = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n'
    b"<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>"
)


@dataclass(frozen=True)
class Trouble:
    """What happens to requests: each is delayed; some are answered with an error.

    ``executed``: the share of the failed requests that the server has executed nevertheless.
    """

    delay_seconds: float = 0.0
    failing: float = 0.0
    executed: float = 0.0
    statuses: tuple[int, ...] = (503, 500)


class Proxy:
    """Passes requests on to a server; ``trouble`` may be set at any time.

    ``requests`` counts them by method; ``met`` counts what it did while there was trouble.
    """

    def __init__(self, host: str, port: int, seed: int) -> None:
        self.target = host, port
        self.trouble = Trouble()
        self.requests: Counter[str] = Counter()
        self.met: Counter[str] = Counter()
        self._random, self._lock = random.Random(seed), threading.Lock()
        proxy = self

        class Handler(_Handler):
            """A request to this proxy."""

            owner = proxy

        self._server = ThreadingHTTPServer((HOST, 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Answer requests while the block runs."""
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    def decide(self, method: str) -> tuple[float, int | None, bool]:
        """The delay of a request, the status of its failure, and whether it is executed."""
        trouble = self.trouble
        with self._lock:
            self.requests[method] += 1
            fails = self._random.random() < trouble.failing
            executed = not fails or self._random.random() < trouble.executed
            status = self._random.choice(trouble.statuses) if fails else None
            if trouble.delay_seconds:
                self.met["delayed"] += 1
            if fails:
                self.met["failed after execution" if executed else "failed"] += 1
        return trouble.delay_seconds, status, executed


class _Handler(BaseHTTPRequestHandler):
    owner: Proxy
    protocol_version = "HTTP/1.1"

    def _pass_on(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            self.send_error(501, "the proxy of tests does not read chunks")
            return
        delay_seconds, status, executed = self.owner.decide(self.command)
        time.sleep(delay_seconds)
        if executed:
            code, headers, data = self._ask(content)
        if status is not None:
            code, data = status, _SLOW_DOWN
            headers = [("Content-Type", "application/xml"), ("Content-Length", str(len(data)))]
        self.send_response_only(code)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _ask(self, content: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        """Send the request as it came, with the host that its signature has."""
        connection = http.client.HTTPConnection(*self.owner.target, timeout=60)
        try:
            connection.putrequest(
                self.command, self.path, skip_host=True, skip_accept_encoding=True
            )
            for name, value in self.headers.items():
                if name.lower() not in _CONNECTION:
                    connection.putheader(name, value)
            connection.endheaders(content or None)
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        headers = [pair for pair in answer.getheaders() if pair[0].lower() not in _CONNECTION]
        if answer.getheader("Content-Length") is None and answer.status not in (204, 304):
            headers.append(("Content-Length", str(len(data))))
        return answer.status, headers, data

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass_on

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing for each request."""


@contextmanager
def with_proxy(storage: Storage, seed: int = 0) -> Iterator[tuple[Storage, Proxy]]:
    """The storage as it is reached through a proxy, and the proxy.

    S3: all requests, of Python and of the JVM. HDFS: those of WebHDFS to the name node.
    """
    (key,) = (each for each in _ADDRESSES if each in storage.hadoop)
    scheme, _, address = storage.hadoop[key].rpartition("//")
    host, _, port = address.partition(":")
    proxy = Proxy(host, int(port), seed)
    there = f"{scheme}//{HOST}:{proxy.port}" if scheme else f"{HOST}:{proxy.port}"
    with proxy.serving():
        yield replace(storage, hadoop={**storage.hadoop, key: there}), proxy
