"""Starts, lists and stops the servers of a folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from headrace.datastream.connectors._external.addresses import without_secrets
from headrace.dev.from_machine import postgres, redis
from headrace.dev.kafka import kafka
from headrace.dev.registry import registry
from headrace.dev.service import Running, Service, find_running
from headrace.errors import JobError

MAKERS: Mapping[str, Callable[[Path, int | None], Service | None]] = {
    "kafka": kafka,
    "registry": registry,
    "redis": redis,
    "postgres": postgres,
}
"""How each server is made; a maker returns None if the server is not installed."""


def up(
    folder: Path, names: Sequence[str] = tuple(MAKERS), ports: Mapping[str, int] | None = None
) -> dict[str, Running | None]:
    """Start servers unless they run; None for those that are not installed.

    Port 0 is any free one. Without a port it is the usual one, or a free one if that is in use.

    Raises:
        JobError: one cannot be started, or runs on another port; those started before keep running.
    """
    for name in names:
        if name not in MAKERS:
            raise JobError(f"there is no server {name!r}", hint=f"one of {', '.join(MAKERS)}")
    own = folder.absolute()
    # A server that refuses to run as root must be able to enter the folder, but no more.
    own.mkdir(0o700 if os.geteuid() else 0o711, parents=True, exist_ok=True)
    if not (own / ".gitignore").exists():
        (own / ".gitignore").write_text("*\n")
    found: dict[str, Running | None] = {}
    for name in names:
        port = (ports or {}).get(name)
        found[name] = _find_on_port(own, name, port) or _start_server(own, name, port)
    return found


def _find_on_port(folder: Path, name: str, port: int | None) -> Running | None:
    """Return the server, if it runs.

    Raises:
        JobError: the server runs on another port than the requested one.
    """
    server = find_running(folder, name)
    if server is not None and port and urlsplit(f"//{server.url.rpartition('//')[2]}").port != port:
        raise JobError(
            f"{name} runs already, on another port than {port}",
            where={"address": without_secrets(server.url)},
            hint="leave the port out, or stop the servers first: headrace dev down",
        )
    return server


def _start_server(folder: Path, name: str, port: int | None) -> Running | None:
    service = MAKERS[name](folder, port)
    return None if service is None else service.start()


def status(folder: Path) -> dict[str, Running | None]:
    """Return the running servers by name; None for servers that do not run."""
    return {name: find_running(folder.absolute(), name) for name in MAKERS}


def down(folder: Path, *, wipe: bool = False) -> list[Running]:
    """Stop all servers, the last one first; ``wipe`` also removes the folder."""
    found = [server for server in status(folder).values() if server is not None]
    for server in reversed(found):
        server.stop()
    if wipe:
        shutil.rmtree(folder, ignore_errors=True)
    return found


def url_of(folder: Path, name: str) -> str:
    """Return the address of a server, with its password if it has one.

    Raises:
        JobError: the server does not run.
    """
    found = find_running(folder.absolute(), name)
    if found is None:
        raise JobError(
            f"{name} does not run here",
            where={"folder": str(folder.absolute())},
            hint="`headrace dev up` starts it; for servers of another folder use --dir",
        )
    return found.url
