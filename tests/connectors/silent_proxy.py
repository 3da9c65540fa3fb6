"""A TCP proxy in front of a broker: it takes requests, and passes nothing on while it is silent."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading

HOST = "127.0.0.1"


class SilentProxy:
    """Clients that are given its ``url`` find no other: it puts its port into the answers."""

    def __init__(self, broker: str) -> None:
        host, port = broker.split(":")
        self._broker = host, int(port)
        self._listener = socket.create_server((HOST, 0))
        own = self._listener.getsockname()[1]
        self.url = f"{HOST}:{own}"
        self._named = [host.encode() + struct.pack(">i", port) for port in (int(port), own)]
        self._passes = threading.Event()
        self._passes.set()
        threading.Thread(target=self._serve, daemon=True).start()

    def fall_silent(self) -> None:
        """Answer nothing from now on; new connections are accepted."""
        self._passes.clear()

    def speak(self) -> None:
        """Pass on what has come meanwhile, and what comes."""
        self._passes.set()

    def _serve(self) -> None:
        while True:
            client, _ = self._listener.accept()
            threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), socket.create_connection(self._broker) as broker:
            back = threading.Thread(target=self._pass_on, args=(broker, client, True), daemon=True)
            back.start()
            self._pass_on(client, broker, False)

    def _pass_on(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        """Pass frames on: a length of four bytes, and as many bytes."""
        with contextlib.suppress(OSError), source.makefile("rb") as frames:
            while len(head := frames.read(4)) == 4:
                frame = frames.read(struct.unpack(">i", head)[0])
                self._passes.wait()
                target.sendall(head + (frame.replace(*self._named) if answers else frame))
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
