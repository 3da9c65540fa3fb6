"""How reports get from the process of the sink's commit to the user's process."""

from __future__ import annotations

import contextlib
import os
import pickle
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import (
    Client,
    Connection,
    Listener,
    answer_challenge,
    deliver_challenge,
)
from typing import Any

from headrace.metrics._merging import MetricId, Part
from headrace.runtime.failure import failure_of

_HANDSHAKE_SECONDS = 30.0
"""A peer that does not show its key is left after this time. Reports wait meanwhile."""

_CLOSING_SECONDS = 5.0


@dataclass
class BatchReport:
    """The report of one committed micro-batch.

    ``delivered``: sink id to a list of (group, records) in order. ``metrics``: what those
    attempts counted whose records are in it. ``watermarks``: the least watermark (ms) over the
    splits of each source that has one, by its id. ``ended``: every source is at its end.
    """

    batch_id: int
    delivered: dict[str, list[tuple[int, list[Any]]]] = field(default_factory=dict)
    metrics: dict[MetricId, Part] = field(default_factory=dict)
    watermarks: dict[str, int] = field(default_factory=dict)
    ended: bool = False

    @property
    def watermark(self) -> int | None:
        """The least watermark (ms) over all splits, or None."""
        return min(self.watermarks.values(), default=None)


class DriverLink:
    """Listens on loopback for reports, and hands each on once, in the order of micro-batches."""

    def __init__(self, on_report: Callable[[BatchReport], None]) -> None:
        self.token = os.urandom(16)
        self._listener = Listener(("127.0.0.1", 0))  # a key here would be waited for without end
        self.address: tuple[str, int] = self._listener.address
        self._on_report = on_report
        self._last = -1
        self._closing = False
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._serve, name="headrace-link", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while not self._closing:
            # No failure of the job: a stranger connected, or a committer died while it sent its
            # report; then its micro-batch comes again.
            with contextlib.suppress(Exception), self._listener.accept() as connection:
                if not self._closing:
                    self._receive_report(connection)

    def _receive_report(self, connection: Connection) -> None:
        """Take a committer's report. Raises if the peer is not a committer, or ends early."""
        _set_read_timeout(connection, _HANDSHAKE_SECONDS)
        deliver_challenge(connection, self.token)
        answer_challenge(connection, self.token)
        _set_read_timeout(connection, 0)
        self._take(connection.recv_bytes())
        connection.send("taken")

    def _take(self, data: bytes) -> None:
        try:
            report: BatchReport = pickle.loads(data)
            if report.batch_id > self._last:
                self._last = report.batch_id
                self._on_report(report)
        except BaseException as error:  # a user's code is called here: sys.exit ends no thread
            self.failure = failure_of(error)

    def close(self) -> None:
        """Stop listening."""
        self._closing = True
        with contextlib.suppress(OSError):  # the thread waits for somebody
            socket.create_connection(self.address, _CLOSING_SECONDS).close()
        self._thread.join(_CLOSING_SECONDS)
        self._listener.close()


def _set_read_timeout(connection: Connection, seconds: float) -> None:
    """Let reads fail after this time; 0: they wait for ever."""
    limit = struct.pack("ll", int(seconds), int(seconds % 1 * 1e6))
    with socket.socket(fileno=os.dup(connection.fileno())) as same:
        same.setblocking(True)  # the two share it, and a default timeout takes it away
        same.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)


def send_report(address: tuple[str, int], token: bytes, report: BatchReport) -> None:
    """Send a micro-batch's report to the user's process, and wait until it is taken.

    Raises:
        OSError, EOFError: that process is gone.
    """
    with Client(address, authkey=token) as connection:
        connection.send(report)
        connection.recv()
