"""Delivery of printed and collected records to the user's process."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from headrace.common._options.catalogue import DEFAULT_MAX_PARALLELISM
from headrace.connector import ExecutedBy
from headrace.runtime.keys.key_groups import subtask_of
from headrace.runtime.program import SinkProgram


class Delivery:
    """Prints and collects the records of one run in the driver."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out
        self._collected: deque[Any] = deque()
        self._arrived = threading.Condition()
        self._closed = False

    @staticmethod
    def takes(sink: SinkProgram) -> bool:
        """Return whether a sink's records are delivered to the driver."""
        return bool(sink.sink.executed_by is ExecutedBy.DRIVER)

    def deliver(self, sink: SinkProgram, group: int, values: Sequence[Any]) -> None:
        """Print or collect the records of one task for a sink."""
        if sink.sink.collects:
            with self._arrived:
                self._collected.extend(values)
                self._arrived.notify_all()
            return
        out = self._out or (sys.stderr if sink.sink.to_stderr else sys.stdout)
        prefix, shown = _format_prefix(sink, group), sink.sink.shown
        out.write("".join(f"{prefix}{shown(value, sink.output_type)}\n" for value in values))
        out.flush()

    def close(self) -> None:
        """Mark the end: no more records will come."""
        with self._arrived:
            self._closed = True
            self._arrived.notify_all()

    def collected(self) -> Iterator[Any]:
        """Yield collected records as they arrive, until ``close``."""
        while True:
            with self._arrived:
                while not self._collected and not self._closed:
                    self._arrived.wait()
                if not self._collected:
                    return
                value = self._collected.popleft()
            yield value

    def ready(self) -> Iterator[Any]:
        """Yield the records that have arrived, without waiting."""
        while True:
            with self._arrived:
                if not self._collected:
                    return
                value = self._collected.popleft()
            yield value


def _format_prefix(sink: SinkProgram, group: int) -> str:
    """Return Flink's prefix of printed lines: identifier, and subtask (from 1) if several."""
    identifier = sink.sink.identifier
    number = ""
    if sink.parallelism > 1:
        number = str(
            subtask_of(group, sink.parallelism, max(DEFAULT_MAX_PARALLELISM, group + 1)) + 1
        )
    parts = [part for part in (identifier, number) if part]
    return ":".join(parts) + "> " if parts else ""
