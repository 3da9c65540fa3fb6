"""Servers that the machine has already: Redis and PostgreSQL."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
from pathlib import Path

from headrace.dev.ports import HOST, chosen
from headrace.dev.service import Service
from headrace.errors import JobError

REDIS_PORT = 6379
POSTGRES_PORT = 5432

_PLACES = ("/usr/local/bin", "/opt/homebrew/bin", "/usr/bin", "/usr/sbin", "/opt/local/bin")


def program(name: str) -> Path | None:
    """A program on the path or in a usual place, PostgreSQL's own folders included."""
    found = shutil.which(name) or shutil.which(name, path=os.pathsep.join(_PLACES))
    if found:
        return Path(found)
    own = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return own[-1] if own else None


def redis(folder: Path, port: int | None = None) -> Service | None:
    """A Redis that keeps nothing on disk; None where none is installed."""
    server = program("redis-server") or program("valkey-server")
    if server is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    own = chosen(port, REDIS_PORT)
    command = [
        *(str(server), "--port", str(own), "--bind", HOST),
        *("--dir", str(folder), "--save", "", "--appendonly", "no"),
    ]
    return Service("redis", folder, command, f"redis://{HOST}:{own}", lambda: _pongs(own))


def _pongs(port: int) -> bool:
    try:
        with socket.create_connection((HOST, port), timeout=2) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(5) == b"+PONG"
    except OSError:
        return False


def postgres(folder: Path, port: int | None = None) -> Service | None:
    """A PostgreSQL for the user ``headrace``, without a password; None where none is installed.

    Logical replication is on. Started by root, it runs as the user ``postgres``.

    Raises:
        JobError: its folder cannot be made.
    """
    server, initdb = program("postgres"), program("initdb")
    if server is None or initdb is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    data, user = folder / "postgres-data", _unprivileged()
    if not (data / "PG_VERSION").exists():
        _make_cluster(initdb, data, user)
    own = chosen(port, POSTGRES_PORT)
    command = [
        *(str(server), "-D", str(data), "-p", str(own), "-h", HOST, "-k", ""),
        *("-c", "wal_level=logical", "-c", "fsync=off"),
    ]
    ready = program("pg_isready")

    def answers() -> bool:
        if ready is None:
            return _accepts(own)
        asked = [str(ready), "-q", "-h", HOST, "-p", str(own)]
        return subprocess.run(asked, check=False).returncode == 0

    url = f"postgresql://headrace@{HOST}:{own}/postgres"
    # SIGINT is its fast shutdown: it does not wait for clients to leave.
    return Service("postgres", folder, command, url, answers, stop_signal=signal.SIGINT, user=user)


def _unprivileged() -> str | None:
    """The user for a server that refuses to be root's; None where this process is not root's."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise JobError(
        "PostgreSQL does not run as root, and there is no user postgres",
        hint="run the command as another user",
    )


def _make_cluster(initdb: Path, data: Path, user: str | None) -> None:
    if user is not None:
        data.mkdir(exist_ok=True)
        shutil.chown(data, user)
    command = [str(initdb), "-D", str(data), "-U", "headrace", "-A", "trust", "--no-sync"]
    done = subprocess.run(command, capture_output=True, text=True, user=user, check=False)
    if done.returncode:
        raise JobError(
            "PostgreSQL could not make its folder",
            where={"folder": str(data), "its words": done.stderr.strip()[-600:]},
            hint="every folder above must be open to the user it runs as",
        )


def _accepts(port: int) -> bool:
    try:
        with socket.create_connection((HOST, port), timeout=2):
            return True
    except OSError:
        return False
