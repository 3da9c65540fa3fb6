"""Forwards Headrace's warnings from Spark's Python processes to the log of the user's process.

What these processes log goes to Spark's log file, which nobody reads while a job waits. So they
append their warnings to a file in the job's temporary folder, which the user's process reads.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from headrace.runners.spark.task_output import OutputLine, repeat_output

_LOGGER = logging.getLogger("headrace")
_POLL_SECONDS = 0.2
REPEAT_SECONDS = 10.0
"""An equal warning is logged only once in this time: many workers may wait for one server."""


class _WarningFileHandler(logging.Handler):
    """Appends records to a file, as lines of JSON."""

    def __init__(self, path: str) -> None:
        super().__init__(logging.WARNING)
        self.path = path

    def emit(self, record: logging.LogRecord) -> None:
        line = json.dumps([record.name, record.levelno, record.getMessage()])
        # The job may have ended, and its folder may be removed, while a worker still waits.
        with contextlib.suppress(FileNotFoundError), Path(self.path).open("ab", 0) as file:
            file.write(
                f"{line}\n".encode()
            )  # a single write, because other processes write to the file too


def write_warnings_to(path: str | None) -> None:
    """Append this process's warnings to a file from now on; None: to no file."""
    for handler in [each for each in _LOGGER.handlers if isinstance(each, _WarningFileHandler)]:
        if handler.path == path:
            return
        _LOGGER.removeHandler(handler)
    if path is not None:
        _LOGGER.addHandler(_WarningFileHandler(path))


class WarningForwarder:
    """Logs the warnings that other processes append to a file, until it is closed."""

    def __init__(self, path: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._path, self._clock = Path(path), clock
        self._path.touch()
        self._read_bytes = 0
        self._logged_s: dict[tuple[str, str], float] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headrace-notices", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._closing.wait(_POLL_SECONDS):
            self._log_new_lines()
        self._log_new_lines()

    def _log_new_lines(self) -> None:
        """Log the complete new lines."""
        if self._path.stat().st_size == self._read_bytes:
            return
        with self._path.open("rb") as file:
            file.seek(self._read_bytes)
            complete_lines, newline, _ = file.read().rpartition(b"\n")
        self._read_bytes += len(complete_lines) + len(newline)
        for line in complete_lines.splitlines():
            name, level, text, *where = json.loads(line)
            if where:
                repeat_output(name, level, text, *where)
            else:
                self._log(name, level, text)

    def show(self, lines: Sequence[OutputLine]) -> None:
        """Print and log the lines that tasks have sent; equal warnings of Headrace only once."""
        for line in lines:
            if line.logger is not None and line.logger.partition(".")[0] == _LOGGER.name:
                self._log(line.logger, line.level, line.text)
            else:
                repeat_output(*line)

    def _log(self, name: str, level: int, text: str) -> None:
        now_s = self._clock()
        with self._lock:
            before_s = self._logged_s.get((name, text))
            is_new = before_s is None or now_s - before_s >= REPEAT_SECONDS
            if is_new:
                self._logged_s[name, text] = now_s
        if is_new:
            logging.getLogger(name).log(level, "%s", text)

    def close(self) -> None:
        """Log the remaining lines."""
        self._closing.set()
        self._thread.join()
