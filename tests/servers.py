"""Redis and PostgreSQL for tests: on loopback, in folders of their own, ended by the test."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

HOST = "127.0.0.1"
START_TIMEOUT_S = 30.0
_POSTGRES = Path("/usr/lib/postgresql")


@dataclass
class Server:
    """A server process that can be killed and started again where it was."""

    url: str
    command: list[str]
    answers: Callable[[], bool]
    folder: Path
    user: str | None = None
    last_signal: signal.Signals = signal.SIGKILL
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, user=self.user
            )
        until = time.monotonic() + START_TIMEOUT_S
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > until:
                self.stop()
                pytest.fail(
                    f"no server: {(self.folder / 'log').read_text(errors='replace')[-800:]}"
                )
            time.sleep(0.02)

    def stop(self) -> None:
        """End it without a chance to tidy up, and wait for that."""
        if self.process is not None:
            self.process.send_signal(self.last_signal)
            self.process.wait(timeout=30)
            self.process = None


@contextmanager
def redis_server() -> Iterator[Server]:
    """A Redis whose writes are on disk when it answers."""
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        pytest.skip("missing: redis-server, apt-get install redis-server")
    port = _free_port()
    with _folder(None) as folder:
        command = [program, "--port", str(port), "--bind", HOST, "--dir", str(folder)]
        command += ["--save", "", "--appendonly", "yes", "--appendfsync", "always"]
        server = Server(f"redis://{HOST}:{port}/0", command, lambda: _pongs(port), folder)
        yield from _running(server)


@contextmanager
def postgres_server() -> Iterator[Server]:
    """A PostgreSQL for the user ``headrace``, who needs no password; ``guest`` has one."""
    program, initdb = _of_postgres("postgres"), _of_postgres("initdb")
    if program is None or initdb is None:
        pytest.skip("missing: postgres and initdb, apt-get install postgresql")
    user, port = _unprivileged(), _free_port()
    with _folder(user) as folder:
        data = folder / "data"
        make = [initdb, "-D", str(data), "-U", "headrace", "-A", "trust", "--no-sync", "-E", "UTF8"]
        subprocess.run([*make, "--locale=C"], check=True, capture_output=True, user=user)
        rules = f"host all guest {HOST}/32 scram-sha-256\nhost all headrace {HOST}/32 trust\n"
        (data / "pg_hba.conf").write_text(rules)
        command = [program, "-D", str(data), "-p", str(port), "-h", HOST, "-k", ""]
        command += ["-c", "shared_buffers=16MB", "-c", "fsync=off"]
        url = f"postgresql://headrace@{HOST}:{port}/postgres"
        # SIGQUIT is its crash: SIGKILL would leave its own processes.
        crash = signal.SIGQUIT
        yield from _running(Server(url, command, lambda: _accepts(url), folder, user, crash))


def _running(server: Server) -> Iterator[Server]:
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def _folder(user: str | None) -> Iterator[Path]:
    # Not below pytest's folders: those are closed to the user that a server runs as.
    with tempfile.TemporaryDirectory(prefix="headrace-server-") as folder:
        if user is not None:
            shutil.chown(folder, user)
        yield Path(folder)


def _of_postgres(name: str) -> str | None:
    own = sorted(_POSTGRES.glob(f"*/bin/{name}"), key=lambda path: float(path.parts[4]))
    return str(own[-1]) if own else shutil.which(name)


def _unprivileged() -> str | None:
    """The user for a server that refuses to be root's."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        return pwd.getpwnam("nobody").pw_name


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _pongs(port: int) -> bool:
    try:
        with socket.create_connection((HOST, port), timeout=2) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(5) == b"+PONG"
    except OSError:
        return False


def _accepts(url: str) -> bool:
    import psycopg

    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True
