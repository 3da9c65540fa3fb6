"""Who reaches the Redis and the PostgreSQL of ``headrace dev``, and as whom they run."""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path

import pytest

from headrace.dev import from_machine
from tests.servers import ANY_FREE_PORT, Server, serving

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks into /proc"),
]


def open_to_others(folder: Path) -> list[str]:
    """The names in a folder that another user may read."""
    return [path.name for path in folder.iterdir() if stat.S_IMODE(path.stat().st_mode) & 0o077]


def command_lines() -> bytes:
    found = b""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += path.read_bytes()
        except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            continue
    return found


def test_a_redis_wants_its_password(redis_of_session: Server) -> None:
    from redis import Redis
    from redis.exceptions import AuthenticationError

    folder, url = redis_of_session.service.folder, redis_of_session.url
    with Redis.from_url(url) as client:
        assert client.ping()
    with (
        Redis.from_url(f"redis://{url.rpartition('@')[2]}") as stranger,
        pytest.raises(AuthenticationError),
    ):
        stranger.config_set("dir", "/tmp")
    assert open_to_others(folder) == []
    assert (folder / "redis.password").read_text().encode() not in command_lines()


def test_a_postgres_wants_its_password(
    postgres_of_session: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    folder, url = postgres_of_session.service.folder, postgres_of_session.url
    without = f"postgresql://headrace@{url.rpartition('@')[2]}"
    for kept in (os.devnull, folder / "pgpass"):
        monkeypatch.setenv("PGPASSFILE", str(kept))
        if kept == os.devnull:
            with pytest.raises(psycopg.OperationalError, match="no password supplied"):
                psycopg.connect(without)
        else:
            psycopg.connect(without).close()
    assert open_to_others(folder) == []
    password = (folder / "pgpass").read_text().strip().rpartition(":")[2]
    assert password in url and password.encode() not in command_lines()


def test_a_postgres_that_root_starts_has_no_group_of_root(postgres_of_session: Server) -> None:
    running, user = postgres_of_session.running, postgres_of_session.service.user
    assert running is not None
    if user is None:
        pytest.skip("it is not started by root here")
    own = pwd.getpwnam(user)
    lines = Path(f"/proc/{running.process.pid}/status").read_text().splitlines()
    ids = {name: set(map(int, rest.split())) for name, _, rest in
           (line.partition(":") for line in lines) if name in ("Uid", "Gid", "Groups")}  # fmt: skip
    assert ids["Uid"] == {own.pw_uid} and ids["Gid"] == {own.pw_gid}
    assert ids["Groups"] == {*os.getgrouplist(user, own.pw_gid)} and 0 not in ids["Groups"]


def test_a_cluster_from_before_passwords_gets_one() -> None:
    """It let everybody in, and there is no file with a password beside it."""
    import psycopg

    with serving("postgres") as server:
        server.stop()
        folder = server.service.folder
        (folder / "pgpass").unlink()
        logins = folder / "postgres-data" / "pg_hba.conf"
        logins.write_text("host all headrace 127.0.0.1/32 trust\n")
        service = from_machine.postgres(folder, ANY_FREE_PORT)
        assert service is not None
        old, server.service = server.url, service
        server.start()
        psycopg.connect(server.url).close()
        with pytest.raises(psycopg.OperationalError, match="authentication failed"):
            psycopg.connect(f"{old.rpartition('@')[0]}@{server.url.rpartition('@')[2]}")
