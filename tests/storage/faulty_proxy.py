"""A proxy in front of an S3 server, which can make requests slow, or answer them with errors."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import time
from collections.abc import Callable
from urllib.parse import urlsplit

HOST = "127.0.0.1"
_REQUEST = re.compile(rb"(GET|PUT|HEAD|POST|DELETE) [^ ]+ HTTP/1\.1\r\n")
_SLOW_DOWN = (
    b"HTTP/1.1 503 Slow Down\r\nContent-Type: application/xml\r\nConnection: close\r\n"
    b"Content-Length: 101\r\n\r\n"
    b'<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message>'
    b"</Error>"
)


class FaultyProxy:
    """Passes requests on to ``server``, unless ``refuses`` is true of a request's number.

    ``delay_s``: how long each request waits. ``requests`` and ``refused``: how many there were.
    """

    def __init__(self, server: str) -> None:
        found = urlsplit(server)
        self._server = found.hostname, found.port
        self._listener = socket.create_server((HOST, 0))
        self.url = f"http://{HOST}:{self._listener.getsockname()[1]}"
        self.delay_s = 0.0
        self.refuses: Callable[[int], bool] = lambda number: False
        self.requests = self.refused = 0
        self._lock = threading.Lock()
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError), socket.create_connection(self._server) as server:
            threading.Thread(target=_pass_on, args=(server, client), daemon=True).start()
            while data := client.recv(1 << 16):
                if _REQUEST.match(data) and not self._admits():
                    client.sendall(_SLOW_DOWN)
                    return
                server.sendall(data)

    def _admits(self) -> bool:
        with self._lock:
            self.requests += 1
            refused = self.refuses(self.requests)
            self.refused += refused
        time.sleep(self.delay_s)
        return not refused


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
