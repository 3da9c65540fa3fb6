"""The process from which all Python processes of a session are forked, with all modules imported.

A streaming job on Spark 4.3 starts nine Python processes one after another. Each imports pyspark,
and most also pandas and pyarrow: 6 s of processor time. Here they are imported once, while the JVM
starts.

The server listens on a Unix socket in a private folder. It ends when its standard input, held by
the driver, is closed; a driver that ends normally writes a byte first. ``fork_client`` is its
client, and describes the protocol.
"""

from __future__ import annotations

import contextlib
import gc
import os
import runpy
import select
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module, invalidate_caches
from pathlib import Path

from headrace.runners.temporary_files import remove_after_owner

WORKERS_VARIABLE = "HEADRACE_WORKERS"
"""Spark reuses an idle process for tasks with the same environment.

Tasks that must not share processes have different values of this variable; nothing reads it.
"""

# Variables that may differ between a process and the server: they are read later than at the start
# of the interpreter or the import of a library, or not at all.
_READ_LATER = ("SPARK_", "PYSPARK_", "_PYSPARK_", "PYTHON_", "OMP_NUM_THREADS")
_IGNORED = frozenset({"JAVA_HOME", "PYTHONPATH", "PWD", "OLDPWD", "SHLVL", "_", WORKERS_VARIABLE})

# Spark sets these for its Python processes; they are read once, at the start.
FIXED = {"PYTHONUNBUFFERED": "YES", "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Request:
    """A process to start: ``python *arguments`` in ``folder`` with ``environment``."""

    arguments: list[str]
    folder: str
    environment: dict[str, str]

    @classmethod
    def read(cls, message: bytes) -> Request:
        """Return the request in a message of ``fork_client``."""
        count, *parts = (os.fsdecode(part) for part in message.split(b"\0"))
        arguments, (folder, *lines) = parts[: int(count)], parts[int(count) :]
        pairs = (line.partition("=") for line in lines)
        return cls(arguments, folder, {name: value for name, _, value in pairs})


def can_serve(request: Request, environment: Mapping[str, str]) -> bool:
    """Return whether a fork of a process with this environment equals a new process.

    It does not if a variable differs that the interpreter or a library reads when it starts.
    """
    if len(request.arguments) < 2 or request.arguments[0] != "-m":
        return False
    requested = request.environment
    if "OMP_NUM_THREADS" in requested and requested["OMP_NUM_THREADS"] != environment.get(
        "OMP_NUM_THREADS"
    ):
        return False
    return all(
        requested.get(name) == environment.get(name)
        for name in requested.keys() | environment.keys()
        if not name.startswith(_READ_LATER) and name not in _IGNORED
    )


def module_path(current_path: Sequence[str], own_variable: str, request: Request) -> list[str]:
    """Return ``sys.path`` of a new ``python -m``: folder, ``PYTHONPATH``, and interpreter.

    ``current_path``: that of this process, and ``own_variable`` its ``PYTHONPATH``.
    """
    added = {os.path.abspath(entry) for entry in own_variable.split(os.pathsep) if entry}
    kept = [entry for entry in current_path[1:] if entry not in added]
    given = request.environment.get("PYTHONPATH", "").split(os.pathsep)
    return [request.folder, *(os.path.abspath(entry) for entry in given if entry), *kept]


class _Server:
    """Forks processes on request, in a single thread: a fork copies no other threads."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._environment = dict(os.environ)
        self._path = list(sys.path)
        self._clients: dict[int, socket.socket] = {}
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        os.set_blocking(self._wake_read, False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)

    def serve(self) -> None:
        """Answer requests until the driver ends."""
        poller = select.poll()
        poller.register(0, select.POLLIN)
        poller.register(self._listener, select.POLLIN)
        poller.register(self._wake_read, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poller.poll()}
            if 0 in ready:
                return
            if self._wake_read in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake_read, 4096)
                self._reap()
            if self._listener.fileno() in ready:
                connection, _ = self._listener.accept()
                with contextlib.suppress(OSError, ValueError, EOFError):
                    self._answer(connection)

    def _reap(self) -> None:
        for pid in list(self._clients):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                connection = self._clients.pop(pid)
                with contextlib.suppress(OSError), connection:
                    connection.sendall(status.to_bytes(8, "big"))

    def _answer(self, connection: socket.socket) -> None:
        connection.settimeout(10)
        request, streams = _receive(connection)
        pid = 0
        try:
            if can_serve(request, self._environment):
                pid = os.fork()
                if pid == 0:
                    self._become(request, streams, connection)
                self._clients[pid] = connection
        finally:
            for stream in streams:
                os.close(stream)
        connection.sendall(pid.to_bytes(8, "big"))
        if not pid:
            connection.close()

    def _become(self, request: Request, streams: list[int], connection: socket.socket) -> None:
        """Run the module in the forked process, and exit."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for end in (self._listener, connection, *self._clients.values()):
                end.close()
            for descriptor in (self._wake_read, self._wake_write):
                os.close(descriptor)
            for target, stream in enumerate(streams):
                os.dup2(stream, target)
                os.close(stream)
            own_variable = self._environment.get("PYTHONPATH", "")
            sys.path[:] = module_path(self._path, own_variable, request)
            os.environ.clear()
            os.environ.update(request.environment)
            os.chdir(request.folder)
            invalidate_caches()
            code = _run(request.arguments[1:])
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            for output in (sys.stdout, sys.stderr):
                with contextlib.suppress(OSError, ValueError):
                    output.flush()
            os._exit(code)


def _run(arguments: Sequence[str]) -> int:
    """Run ``python -m *arguments``, and return the exit code."""
    sys.argv = list(arguments)
    try:
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return (end.code or 0) & 0xFF
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _receive(connection: socket.socket) -> tuple[Request, list[int]]:
    """Receive a request and three streams; after an error the streams are closed."""
    head, streams, _, _ = socket.recv_fds(connection, 8, 3)
    try:
        length = int.from_bytes(_receive_exactly(connection, head, 8), "big")
        return Request.read(_receive_exactly(connection, b"", length)), streams
    except BaseException:
        for stream in streams:
            os.close(stream)
        raise


def _receive_exactly(connection: socket.socket, data: bytes, length: int) -> bytes:
    while len(data) < length:
        part = connection.recv(min(length - len(data), 1 << 20))
        if not part:
            raise EOFError("the client is gone")
        data += part
    return data


def _import_everything() -> None:
    for module in (
        "headrace.runners.spark.startup.daemon",
        "pyspark.sql.streaming.stateful_processor_api_client",
        "pyspark.sql.worker.utils",
        "pyspark.worker",
    ):
        import_module(module)


def main() -> None:
    """Import, then serve: ``python -m ... DESCRIPTOR FOLDER``.

    The descriptor is of a listening socket; the folder is the driver's temporary folder.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=int(sys.argv[1])) as listener:
        listener.set_inheritable(False)
        _import_everything()
        gc.freeze()  # a garbage collection in a fork must not copy the imported modules' memory
        _Server(listener).serve()
    if not os.read(0, 1):  # the driver was killed, and has not removed its folder
        remove_after_owner(Path(sys.argv[2]))


if __name__ == "__main__":
    main()
