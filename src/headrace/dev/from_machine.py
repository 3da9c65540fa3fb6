"""Servers that the machine has already: Redis and PostgreSQL."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import struct
import subprocess
from pathlib import Path

from headrace.dev.ports import HOST, chosen
from headrace.dev.service import Service
from headrace.errors import JobError

REDIS_PORT = 6379
POSTGRES_PORT = 5432

_PLACES = ("/usr/local/bin", "/opt/homebrew/bin", "/usr/bin", "/usr/sbin", "/opt/local/bin")
_POSTGRES = Path("/usr/lib/postgresql")
"""Where Debian has its versions, none of them on the path."""

_LOGINS = f"host all headrace {HOST}/32 trust\nhost all all {HOST}/32 scram-sha-256\n"


def program(name: str) -> Path | None:
    """A program on the path or in a usual place."""
    found = shutil.which(name) or shutil.which(name, path=os.pathsep.join(_PLACES))
    return Path(found) if found else None


def _of_postgres(name: str) -> Path | None:
    """A program of PostgreSQL's newest version."""
    own = sorted(_POSTGRES.glob(f"*/bin/{name}"), key=lambda path: float(path.parts[-3]))
    return own[-1] if own else program(name)


def redis(folder: Path, port: int | None = None) -> Service | None:
    """A Redis whose writes outlive it; None where none is installed.

    They are with the system when it answers, so they outlive a kill, too.
    """
    server = program("redis-server") or program("valkey-server")
    if server is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    own = chosen(port, REDIS_PORT)
    command = [
        *(str(server), "--port", str(own), "--bind", HOST),
        *("--dir", str(folder), "--save", "", "--appendonly", "yes", "--appendfsync", "no"),
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
    """A PostgreSQL for the user ``headrace``; None where none is installed.

    That user needs no password, others do. Logical replication is on. Started by root, it runs as
    the user ``postgres``.

    Raises:
        JobError: its folder cannot be made.
    """
    server, initdb = _of_postgres("postgres"), _of_postgres("initdb")
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
    return Service(
        "postgres",
        folder,
        command,
        f"postgresql://headrace@{HOST}:{own}/postgres",
        lambda: _accepts(own),
        stop_signal=signal.SIGINT,  # its fast shutdown: it does not wait for clients to leave
        crash_signal=signal.SIGQUIT,  # SIGKILL would leave its own processes
        user=user,
    )


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
    command += ["-E", "UTF8", "--locale=C"]
    done = subprocess.run(command, capture_output=True, text=True, user=user, check=False)
    if done.returncode:
        raise JobError(
            "PostgreSQL could not make its folder",
            where={"folder": str(data), "its words": done.stderr.strip()[-600:]},
            hint="every folder above must be open to the user it runs as",
        )
    (data / "pg_hba.conf").write_text(_LOGINS)


def _accepts(port: int) -> bool:
    """Whether it asks a user in.

    Source: PostgreSQL's protocol, StartupMessage version 3.0; a server that is not ready yet
    answers with an error.
    """
    body = struct.pack(">i", 3 << 16) + b"user\0headrace\0database\0postgres\0\0"
    try:
        with socket.create_connection((HOST, port), timeout=2) as connection:
            connection.sendall(struct.pack(">i", len(body) + 4) + body)
            return connection.recv(1) == b"R"
    except OSError:
        return False
