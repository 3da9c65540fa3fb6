"""Real servers for tests, made by the code of ``headrace dev``; who asks for one ends it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from headrace.dev.servers import MAKERS
from headrace.dev.service import Running, Service
from headrace.errors import JobError
from headrace.runners.spark.startup.java import find_java

ANY_FREE_PORT = 0


@dataclass
class Server:
    """A server that can be killed, and started again where it was."""

    service: Service
    running: Running | None = field(default=None, init=False)

    @property
    def url(self) -> str:
        """The address for clients."""
        return self.service.url

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.running = self.service.start()

    def kill(self) -> None:
        """End it without a chance to tidy up, and wait for that."""
        self._end(force=True)

    def stop(self) -> None:
        """End it in order, and wait for that: a broker that was killed is away for ten seconds."""
        self._end(force=False)

    def _end(self, *, force: bool) -> None:
        if self.running is not None:
            self.running.stop(force=force)
            self.running = None


@contextmanager
def serving(name: str) -> Iterator[Server]:
    """A server with a folder and a port of its own; without one the test is skipped."""
    # Not below pytest's folders: those are closed to the user that PostgreSQL runs as.
    with tempfile.TemporaryDirectory(prefix="headrace-server-", ignore_cleanup_errors=True) as path:
        Path(path).chmod(0o711)
        server = Server(_made(name, Path(path)))
        server.start()
        try:
            yield server
        finally:
            server.kill()


def _made(name: str, folder: Path) -> Service:
    """How it is started; the test is skipped where this machine cannot have it."""
    try:
        if name in ("kafka", "registry"):
            find_java()
        service = MAKERS[name](folder, ANY_FREE_PORT)
    except JobError as error:
        pytest.skip(f"missing: {name}: {error.message}; {error.hint}")
    if service is None:
        pytest.skip(f"missing: {name} is not installed: the system's packages have it")
    return service
