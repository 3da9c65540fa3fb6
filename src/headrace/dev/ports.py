"""Ports on loopback."""

from __future__ import annotations

import socket
from contextlib import ExitStack

from headrace.errors import JobError

HOST = "127.0.0.1"


def is_free(port: int) -> bool:
    """Return whether a server can listen on the port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    """Return different ports that nobody uses."""
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind((HOST, 0))
        return [probe.getsockname()[1] for probe in probes]


def choose_port(port: int | None, usual: int) -> int:
    """Return the requested port, else the usual one, else a free one.

    Raises:
        JobError: the requested port is in use.
    """
    if port:
        if not is_free(port):
            raise JobError(f"port {port} is taken", hint="choose another one, or none")
        return port
    return usual if port is None and is_free(usual) else free_ports(1)[0]
