"""How many connections the page has: they share the job's process, and its file descriptors."""

from __future__ import annotations

import logging
from typing import Any

from headrace.common._extras import optional

_log = logging.getLogger(__name__)
_log.setLevel(logging.ERROR)  # what clients do wrong is no matter of the job's
_MAX_CONNECTIONS = 128
_SILENT_S = 10.0
"""A connection that has no complete request in this time is closed."""


def make_protocol(max_connections: int = _MAX_CONNECTIONS, silent_s: float = _SILENT_S) -> type:
    """Return a class of connections for uvicorn; further ones, and silent ones, are closed."""
    base: Any = optional("uvicorn.protocols.http.h11_impl").H11Protocol

    class LimitedConnection(base):  # type: ignore[misc]  # the base is not known here
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.logger = _log
            self._seen = self._timer = None
            if len(self.connections) > max_connections:
                transport.abort()
            else:
                self._look_later()

        def _look_later(self) -> None:
            self._timer = self.loop.call_later(silent_s, self._look)

        def _look(self) -> None:
            request = self.cycle
            awaits_client = request is None or request.response_complete or request.more_body
            if awaits_client and request is self._seen:
                self.transport.abort()
                return
            self._seen = request
            self._look_later()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            if self._timer is not None:
                self._timer.cancel()

    return LimitedConnection
