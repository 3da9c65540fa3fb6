"""The way back from the sink's commit, which runs in a process of its own, to the user's."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Client, Listener
from typing import Any


@dataclass
class BatchReport:
    """What one committed micro-batch has to tell.

    ``delivered``: sink number to a list of (group, records) in order. ``metrics``: how much each
    counter grew. ``watermark``: the least watermark (ms) over the splits, or None. ``ended``: every
    source is at its end.
    """

    batch_id: int
    delivered: dict[int, list[tuple[int, list[Any]]]] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    watermark: int | None = None
    ended: bool = False


class DriverLink:
    """Listens on loopback for reports, and hands each on once, in the order of micro-batches."""

    def __init__(self, on_report: Callable[[BatchReport], None]) -> None:
        self.token = os.urandom(16)
        self._listener = Listener(("127.0.0.1", 0), authkey=self.token)
        self.address: tuple[str, int] = self._listener.address
        self._on_report = on_report
        self._last = -1
        self._closing = False
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._serve, name="headrace-link", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                with self._listener.accept() as connection:
                    report = connection.recv()
                    if report is None:
                        if self._closing:
                            return
                        continue
                    self._take(report)
                    connection.send("taken")
            except (OSError, EOFError):
                # A committer that died while it spoke; the micro-batch comes again.
                if self._closing:
                    return

    def _take(self, report: BatchReport) -> None:
        if report.batch_id <= self._last:
            return
        try:
            self._on_report(report)
        except Exception as error:
            self.failure = error
        self._last = report.batch_id

    def close(self) -> None:
        """Stop listening."""
        self._closing = True
        try:
            with Client(self.address, authkey=self.token) as connection:
                connection.send(None)
        except OSError:
            pass  # the listener is gone already, which is what was wanted
        self._thread.join(timeout=5)
        self._listener.close()


def send_report(address: tuple[str, int], token: bytes, report: BatchReport) -> None:
    """Tell the user's process about a micro-batch; comes back when it has been taken.

    Raises:
        OSError, EOFError: that process is gone.
    """
    with Client(address, authkey=token) as connection:
        connection.send(report)
        connection.recv()
