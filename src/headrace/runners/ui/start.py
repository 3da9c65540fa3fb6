"""Makes the observers that show a job, according to its configuration."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from headrace.common._options import catalogue as options
from headrace.common.configuration import Configuration
from headrace.runners.observers import JobObserver
from headrace.runners.ui.commands import Commanded
from headrace.runners.ui.record import JobRecord
from headrace.runners.ui.terminal import TerminalDisplay, shows_live

if TYPE_CHECKING:
    from headrace.runners.ui.server import UiServer

DEFAULT_PORT = 8081
_LIBRARIES = ("starlette", "uvicorn")


class _Servers:
    """The servers of this process, by host and configured port."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._servers: dict[tuple[str, int], UiServer | None] = {}

    def get(self, host: str, port: int, is_default: bool) -> UiServer | None:
        """Return the server of an address, started if necessary; None if it cannot start."""
        with self._lock:
            if (host, port) not in self._servers:
                self._servers[host, port] = _start_server(host, port, is_default)
            return self._servers[host, port]


_servers = _Servers()


def display_observers(
    configuration: Configuration, name: str, on_cluster: Callable[[], bool] = lambda: False
) -> list[JobObserver]:
    """Return the observers that show a job, in the order in which they must be called.

    Also print the address of the page. ``on_cluster``: whether the job runs on a cluster, where
    the page is off by default.
    """
    mode = options.read(configuration, options.UI_TERMINAL)
    server = _page_server(configuration, on_cluster)
    if mode == "off" and server is None:
        return []
    record = JobRecord(name)
    record.configuration = configuration.to_dict()
    record.token = options.read(configuration, options.UI_TOKEN)
    observers: list[JobObserver] = [record]
    address = ""
    if server is not None:
        server.add(record, options.read(configuration, options.UI_ADDRESS))
        address = server.address
        print(f"headrace: {name!r} is shown at {address}", file=sys.stderr)
    if mode != "off":
        live = mode == "auto" and shows_live()
        observers.append(TerminalDisplay(record, live, address))
    return observers


def let_command(observers: Sequence[JobObserver], job: Commanded) -> None:
    """Let the page of ``display_observers`` pass commands to the job, which has started."""
    for observer in observers:
        if isinstance(observer, JobRecord):
            observer.commands.begin(job)


def _page_server(configuration: Configuration, on_cluster: Callable[[], bool]) -> UiServer | None:
    port = options.read(configuration, options.UI_PORT)
    host = options.read(configuration, options.UI_HOST)
    if port is not None:
        if port < 0:
            return None
        return _servers.get(host, port, False)
    if os.environ.get(options.UI_VARIABLE) != "1" or on_cluster():
        return None
    return _servers.get(host, DEFAULT_PORT, True)


def _start_server(host: str, port: int, is_default: bool) -> UiServer | None:
    """Start a server. If there is none, or it has another port, print the reason."""
    if not all(map(find_spec, _LIBRARIES)):
        print(
            'headrace: to see jobs in a browser, pip install "headrace[ui]"'
            f" ({options.UI_PORT.key}=-1 turns this line off)",
            file=sys.stderr,
        )
        return None
    from headrace.runners.ui.server import UiServer

    try:
        return UiServer(host, port)
    except OSError as error:
        reason = f"port {port} of {host} cannot be used ({error.strerror or error})"
        if not is_default:
            print(
                f"headrace: {reason}, so there is no page; set {options.UI_PORT.key}=0 to use any"
                " free port",
                file=sys.stderr,
            )
            return None
        print(f"headrace: {reason}; the page uses a free port", file=sys.stderr)
        return UiServer(host, 0)
