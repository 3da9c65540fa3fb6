"""Represents, towards Spark, a Python process that the fork server starts.

If the fork server does not answer, this process becomes the Python process itself.


Run by its path, from the script that ``interpreter.worker_python`` writes, as ``python -I -S
fork_client.py SOCKET PYTHON -m MODULE [ARGUMENT...]``. It imports as little as possible, because
it delays each Python process of a session (by 15 ms with Python 3.11).

The request: argv, the working directory and the environment as NUL-separated bytes, with the three
standard streams attached. There are two answers of 8 bytes: first the new process's id, or 0 if the
request is refused; when the process ends, its exit status as returned by ``os.waitpid``.
"""

from __future__ import annotations

import _socket
import os
import signal
import sys
from typing import Any

_STANDARD_STREAMS = (0, 1, 2)
_PASSED_ON = (signal.SIGTERM,)


def main() -> None:
    """Let the server start the process and wait for its end, or start it here."""
    socket_path, python, *arguments = sys.argv[1:]
    # Signals are blocked until they can be passed on; otherwise the new process might live on.
    signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)
    server, pid = _ask(socket_path, arguments)
    if not pid:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_ON)
        os.execv(python, [python, *arguments])
    signal.signal(signal.SIGTERM, lambda number, frame: os.kill(pid, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_ON)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in _STANDARD_STREAMS:
        os.dup2(null, stream)  # the ends of the pipes belong to the new process alone
    status = _read_number(server)
    code = 1 if status is None else os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def _ask(socket_path: str, arguments: list[str]) -> tuple[Any, int]:
    """Return the connection, and the id of the forked process; 0 if there is none."""
    server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        server.connect(socket_path)
        message = _build_message(arguments)
        streams = b"".join(n.to_bytes(4, sys.byteorder) for n in _STANDARD_STREAMS)
        length = len(message).to_bytes(8, "big")
        server.sendmsg([length], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
        server.sendall(message)
        return server, _read_number(server) or 0
    except OSError:
        return server, 0


def _build_message(arguments: list[str]) -> bytes:
    environment = [name + b"=" + value for name, value in os.environb.items()]
    parts = [os.fsencode(a) for a in arguments]
    head = [str(len(parts)).encode(), *parts, os.fsencode(os.getcwd())]
    return b"\0".join([*head, *environment])


def _read_number(server: Any) -> int | None:
    data = b""
    while len(data) < 8:
        part = server.recv(8 - len(data))
        if not part:
            return None
        data += part
    return int.from_bytes(data, "big")


if __name__ == "__main__":
    main()
