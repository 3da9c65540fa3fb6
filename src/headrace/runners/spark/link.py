"""Reports of committed micro-batches: from the process that commits sinks to the user's process."""

from __future__ import annotations

import contextlib
import os
import pickle
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import (
    Client,
    Connection,
    Listener,
    answer_challenge,
    deliver_challenge,
)
from typing import Any

from headrace.metrics._merging import MetricId, MetricValue
from headrace.runners.spark.task_output import OutputLine
from headrace.runtime.failure import to_job_failure

_HANDSHAKE_SECONDS = 30.0
"""A peer that has not authenticated after this time is disconnected; until then others wait."""

_CLOSING_SECONDS = 5.0


PageChanges = Mapping[str, bytes | None]
"""Changed pages of state by ``<operator>/<group>/<name>``; None: the page was removed."""


@dataclass
class BatchReport:
    """The report of a committed micro-batch.

    ``delivered``: by sink id, a list of (group, records) in order. ``metrics``: the metrics of the
    committed attempts of tasks. ``output``: what functions printed and logged in these attempts;
    empty unless on a cluster. ``state``: the pages of queryable state that each task has changed;
    None: they were too large. ``watermarks``: by source id, the minimum watermark (ms) of its
    splits.
    ``ended``: whether all sources are at their end. ``commit_ms``: how long the sinks' commit took.
    """

    batch_id: int
    delivered: dict[str, list[tuple[int, list[Any]]]] = field(default_factory=dict)
    metrics: dict[MetricId, MetricValue] = field(default_factory=dict)
    output: list[OutputLine] = field(default_factory=list)
    state: list[PageChanges | None] = field(default_factory=list)
    watermarks: dict[str, int] = field(default_factory=dict)
    ended: bool = False
    commit_ms: float = 0.0

    @property
    def watermark(self) -> int | None:
        """The minimum watermark (ms) of all sources, or None."""
        return min(self.watermarks.values(), default=None)


class DriverLink:
    """Receives reports on a loopback socket, and calls ``on_report`` once for each, in order.

    ``on_state`` is called for the report of a repeated micro-batch, too. ``failure``: the exception
    of ``on_report``; None if there is none.
    """

    def __init__(
        self,
        on_report: Callable[[BatchReport], None],
        on_state: Callable[[BatchReport], None] = lambda report: None,
    ) -> None:
        self.token = os.urandom(16)
        self._listener = Listener(
            ("127.0.0.1", 0)
        )  # authentication follows after accept, with a timeout
        self.address: tuple[str, int] = self._listener.address
        self._on_report, self._on_state = on_report, on_state
        self._last = -1
        self._closing = False
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._serve, name="headrace-link", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while not self._closing:
            # An error here does not fail the job: either another program has connected, or a
            # committer was killed while it sent its report. Then the micro-batch is repeated.
            with contextlib.suppress(Exception), self._listener.accept() as connection:
                if not self._closing:
                    self._receive_report(connection)

    def _receive_report(self, connection: Connection) -> None:
        """Receive a report. Raises if the peer is not a committer, or disconnects."""
        _set_read_timeout(connection, _HANDSHAKE_SECONDS)
        deliver_challenge(connection, self.token)
        answer_challenge(connection, self.token)
        _set_read_timeout(connection, 0)
        self._process_report(connection.recv_bytes())
        connection.send("taken")

    def _process_report(self, data: bytes) -> None:
        try:
            report: BatchReport = pickle.loads(data)
            self._on_state(report)
            if report.batch_id > self._last:
                self._last = report.batch_id
                self._on_report(report)
        except BaseException as error:  # it calls user code, which may call sys.exit
            self.failure = to_job_failure(error)

    def close(self) -> None:
        """Stop listening, and wait for the thread."""
        self._closing = True
        with contextlib.suppress(OSError):  # wakes the thread, which waits for a connection
            socket.create_connection(self.address, _CLOSING_SECONDS).close()
        self._thread.join(_CLOSING_SECONDS)
        self._listener.close()


def _socket_of(connection: Connection) -> socket.socket:
    """Return a connection's socket under another descriptor, which the caller closes."""
    same = socket.socket(fileno=os.dup(connection.fileno()))
    same.setblocking(True)  # with a default timeout of the program neither of both would block now
    return same


def _set_read_timeout(connection: Connection, seconds: float) -> None:
    """Set the timeout of reads; 0 for none."""
    limit = struct.pack("ll", int(seconds), int(seconds % 1 * 1e6))
    with _socket_of(connection) as receiver:
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)


def send_report(address: tuple[str, int], token: bytes, report: BatchReport) -> None:
    """Send a report to the user's process, and wait until it is processed.

    Raises:
        OSError, EOFError: that process has ended.
    """
    with Client(address, authkey=token) as connection:
        # This side sends the last message of the handshake. Without TCP_NODELAY the report would
        # wait until the other side acknowledges that message, which it delays by 40 ms.
        with _socket_of(connection) as sender:
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.send(report)
        connection.recv()
