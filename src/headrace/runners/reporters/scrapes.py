"""An HTTP server for scrapes, in the job's process: few connections at once, each for a time."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

_MAX_CONNECTIONS = 32
_SILENT_S = 10.0


class ScrapeServer(ThreadingMixIn, WSGIServer):
    """Serves a WSGI application, each connection in a thread.

    Connections above ``max_connections`` are closed, and so is one whose client neither sends nor
    receives for ``silent_s``. Errors of connections are not printed.

    Raises:
        OSError: the port is in use, or the host is not an address of this machine.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(
        self,
        host: str,
        port: int,
        app: Callable[..., Any],
        max_connections: int = _MAX_CONNECTIONS,
        silent_s: float = _SILENT_S,
    ) -> None:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        self.address_family, _, _, _, address = found[0]
        self._free = threading.BoundedSemaphore(max_connections)
        handler = type("Handler", (_Handler,), {"timeout": silent_s})
        super().__init__((str(address[0]), port), handler)
        self.set_app(app)
        self._thread = threading.Thread(
            target=self.serve_forever, name="headrace-scrapes", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self.shutdown()
        self.server_close()
        self._thread.join(_SILENT_S)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Return whether a connection may be open; if so, ``process_request_thread`` ends it."""
        return self._free.acquire(blocking=False)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer a request, in a thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: the client has left, or was silent."""


class _Handler(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing for a request."""
