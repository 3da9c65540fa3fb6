"""Servers that are installed on the machine: Redis and PostgreSQL."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import struct
import subprocess
from pathlib import Path

from headrace.dev.ports import HOST, choose_port
from headrace.dev.service import PRIVATE, Service, subprocess_user_arguments
from headrace.errors import JobError
from headrace.runners.temporary_files import write_private

REDIS_PORT = 6379
POSTGRES_PORT = 5432

_PLACES = ("/usr/local/bin", "/opt/homebrew/bin", "/usr/bin", "/usr/sbin", "/opt/local/bin")
_POSTGRES = Path("/usr/lib/postgresql")
"""Where Debian installs PostgreSQL's versions, which are not on the path."""

_LOGINS = f"host all all {HOST}/32 scram-sha-256\n"
_PGPASS = "*:*:*:headrace:"
"""The text before the password in a file for ``PGPASSFILE``."""


def find_program(name: str) -> Path | None:
    """Return a program on the path or in a usual folder."""
    found = shutil.which(name) or shutil.which(name, path=os.pathsep.join(_PLACES))
    return Path(found) if found else None


def _find_postgres_program(name: str) -> Path | None:
    """Return a program of the newest installed PostgreSQL."""
    own = sorted(_POSTGRES.glob(f"*/bin/{name}"), key=lambda path: float(path.parts[-3]))
    return own[-1] if own else find_program(name)


def redis(folder: Path, port: int | None = None) -> Service | None:
    """Return a Redis with durable writes; None if none is installed.

    Acknowledged writes are with the operating system, so they survive a kill. The password is in a
    file in its folder: without one, every user of the machine could write files as this user.
    """
    server = find_program("redis-server") or find_program("valkey-server")
    if server is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    own = choose_port(port, REDIS_PORT)
    kept, settings = folder / "redis.password", folder / "redis.conf"
    if not kept.exists():
        write_private(kept, secrets.token_urlsafe())
    password = kept.read_text()
    write_private(settings, f"requirepass {password}\n")  # every user can read command lines
    command = [
        *(str(server), str(settings), "--port", str(own), "--bind", HOST),
        *("--dir", str(folder), "--save", "", "--appendonly", "yes", "--appendfsync", "no"),
    ]
    url = f"redis://:{password}@{HOST}:{own}"
    return Service("redis", folder, command, url, lambda: _answers_ping(own, password))


def _answers_ping(port: int, password: str) -> bool:
    try:
        with socket.create_connection((HOST, port), timeout=2) as connection:
            connection.sendall(f"AUTH {password}\r\nPING\r\n".encode())
            with connection.makefile("rb") as answers:
                return [answers.readline(), answers.readline()] == [b"+OK\r\n", b"+PONG\r\n"]
    except OSError:
        return False


def postgres(folder: Path, port: int | None = None) -> Service | None:
    """Return a PostgreSQL whose superuser is ``headrace``; None if none is installed.

    The password is in a file in its folder, for ``PGPASSFILE``: a superuser can run programs.
    Logical replication is on. If root starts it, it runs as the user ``postgres``.

    Raises:
        JobError: its folder cannot be created.
    """
    server, initdb = _find_postgres_program("postgres"), _find_postgres_program("initdb")
    if server is None or initdb is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    data, user = folder / "postgres-data", _unprivileged_user()
    if not (data / "PG_VERSION").exists():
        _make_cluster(initdb, data, user)
    kept = folder / "pgpass"
    if not kept.exists():  # the cluster may have been created without one
        password = secrets.token_urlsafe()
        _set_password(server, data, user, password)
        write_private(kept, f"{_PGPASS}{password}\n")
    password = kept.read_text().strip().removeprefix(_PGPASS)
    (data / "pg_hba.conf").write_text(_LOGINS)
    own = choose_port(port, POSTGRES_PORT)
    command = [
        *(str(server), "-D", str(data), "-p", str(own), "-h", HOST, "-k", ""),
        *("-c", "wal_level=logical", "-c", "fsync=off"),
    ]
    return Service(
        "postgres",
        folder,
        command,
        f"postgresql://headrace:{password}@{HOST}:{own}/postgres",
        lambda: _accepts_logins(own),
        stop_signal=signal.SIGINT,  # fast shutdown: it does not wait for clients
        crash_signal=signal.SIGQUIT,  # SIGKILL would leave its child processes
        user=user,
    )


def _unprivileged_user() -> str | None:
    """Return the user for a server that refuses to run as root.

    Return None if this process does not run as root.
    """
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
        data.mkdir(0o700, exist_ok=True)
        shutil.chown(data, user, subprocess_user_arguments(user)["group"])
    command = [str(initdb), "-D", str(data), "-U", "headrace", "-A", "reject", "--no-sync"]
    command += ["-E", "UTF8", "--locale=C"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, **subprocess_user_arguments(user)
    )
    if done.returncode:
        raise JobError(
            "PostgreSQL could not make its folder",
            where={"folder": str(data), "its words": done.stderr.strip()[-600:]},
            hint="every folder above must be open to the user it runs as",
        )


def _set_password(server: Path, data: Path, user: str | None, password: str) -> None:
    """Set the superuser's password while the server is stopped, so that nobody else can connect.

    Raises:
        JobError: PostgreSQL refuses it.
    """
    done = subprocess.run(
        [str(server), "--single", "-D", str(data), "postgres"],
        input=f"ALTER ROLE headrace PASSWORD '{password}'\n",
        capture_output=True,
        text=True,
        check=False,
        umask=PRIVATE,
        **subprocess_user_arguments(user),
    )
    if done.returncode or "ERROR:" in done.stderr:
        words = done.stderr.strip()[-600:].replace(password, "***")
        raise JobError(
            "PostgreSQL refuses the superuser's password",
            where={"folder": str(data), "its words": words},
        )


def _accepts_logins(port: int) -> bool:
    """Return whether it accepts logins.

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
