"""Forwards what functions print and log in Spark's Python processes to the user's process.

Each line gets the operator and the task. It still goes to Spark's log, and the user's process
prints or logs it again. On one machine lines are forwarded at once, through the file of
``worker_warnings``. On a cluster they are sent with the task's results, so they appear when the
micro-batch is committed. The lines of a failed task are sent with its exception.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, TextIO

from headrace.runtime.operator import NodeProgram

LINES_PER_SECOND = 100
"""The limit of lines that a process forwards through the file; then only their number."""

LINES_PER_TASK = 100
"""The limit of lines that are sent with a task's results; then only their number."""

_CHARACTERS_PER_TASK = 32 << 10
_FAILURE_LINES = 20
_FAILURE_CHARACTERS = 200

_OURS = "headrace"


class OutputLine(NamedTuple):
    """A line that a function printed (``logger`` None) or logged; ``where``: operator and task."""

    logger: str | None
    level: int
    text: str
    where: str


class TaskOutput:
    """Forwards what this process prints and logs; installed by ``forward_output``.

    ``path``: the file that the user's process reads; None: lines are kept, for ``take``. ``task``:
    returns the number of the current task.
    """

    def __init__(
        self, task: Callable[[], int], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.path: str | None = None
        self._task, self._clock = task, clock
        self._lock = threading.Lock()
        self._second, self._lines, self._left_out = 0, 0, 0
        self._kept: list[OutputLine] = []
        self._kept_characters = 0

    def where(self) -> str:
        """Return the current operator and task, such as ``[sums, task 3]``."""
        operator = _operator_at_work(sys._getframe(1))
        task = f"task {self._task()}"
        return f"[{operator}, {task}]" if operator else f"[{task}]"

    def send(self, logger: str | None, level: int, text: str, where: str) -> None:
        """Append a line to the file, or keep it; ``logger`` None: it was printed."""
        with self._lock:
            if self.path is None:
                self._keep(OutputLine(logger, level, text, where))
                return
            second = int(self._clock())
            if second != self._second:
                left_out, self._left_out = self._left_out, 0
                self._second, self._lines = second, 0
                if left_out:
                    self._append([*_left_out_line(left_out, "Spark's log", where)])
            self._lines += 1
            if self._lines > LINES_PER_SECOND:
                self._left_out += 1
                return
            self._append([logger, level, text, where])

    def _keep(self, line: OutputLine) -> None:
        self._kept_characters += len(line.text)
        if len(self._kept) < LINES_PER_TASK and self._kept_characters <= _CHARACTERS_PER_TASK:
            self._kept.append(line)
        else:
            self._left_out += 1

    def take(self) -> list[OutputLine]:
        """Return the lines kept since the last call; the last line says how many were left out."""
        if self.path is not None or not (self._kept or self._left_out):
            return []
        with self._lock:
            lines, left_out = self._kept, self._left_out
            self._kept, self._kept_characters, self._left_out = [], 0, 0
        if left_out:
            lines.append(_left_out_line(left_out, "the executor's log", f"[task {self._task()}]"))
        return lines

    def _append(self, entry: list[Any]) -> None:
        assert self.path is not None
        # The job may have ended, so its folder may not exist any more.
        with contextlib.suppress(FileNotFoundError), Path(self.path).open("ab", 0) as file:
            file.write(
                f"{json.dumps(entry)}\n".encode()
            )  # a single write, because other processes write to the file too


def _left_out_line(count: int, log: str, where: str) -> OutputLine:
    lines = "1 more line, which is" if count == 1 else f"{count:,} more lines, which are"
    return OutputLine(None, logging.INFO, f"and {lines} in {log}", where)


def _operator_at_work(frame: FrameType | None) -> str:
    """Return the name of the operator whose function is running; empty if there is none."""
    while frame is not None:
        node = frame.f_locals.get("node")
        if isinstance(node, NodeProgram):
            return node.name
        frame = frame.f_back
    return ""


class _PrintedLines:
    """Replaces a stream: forwards each complete line, with its operator and task."""

    def __init__(self, stream: TextIO, output: TaskOutput) -> None:
        self._stream, self._output = stream, output
        self._begun = threading.local()

    def write(self, text: str) -> int:
        whole = getattr(self._begun, "text", "") + text
        *lines, self._begun.text = whole.split("\n")
        if lines:
            where = self._output.where()
            for line in lines:
                self._output.send(None, logging.INFO, line, where)
            self._stream.write("".join(f"{where} {line}\n" for line in lines))
            self._stream.flush()
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _LoggedRecords(logging.Handler):
    """Forwards log records. Of Headrace's own, only warnings, and only on a cluster.

    On one machine ``worker_warnings`` writes Headrace's warnings to the file.
    """

    def __init__(self, output: TaskOutput) -> None:
        super().__init__()
        self.output = output
        self.setFormatter(logging.Formatter("%(message)s"))  # with the traceback, if there is one

    def emit(self, record: logging.LogRecord) -> None:
        ours = record.name.partition(".")[0] == _OURS
        if not ours or (self.output.path is None and record.levelno >= logging.WARNING):
            where = self.output.where()
            text = self.format(record)
            self.output.send(record.name, record.levelno, text, where)


_installed: TaskOutput | None = None


def forward_output(path: str | None, levels: Mapping[str, str], task: Callable[[], int]) -> None:
    """Forward what this process prints and logs from now on; ``levels``: by logger.

    Called when a worker begins to work for another run.
    """
    global _installed
    if _installed is None:
        _installed = TaskOutput(task)
        sys.stdout = _PrintedLines(sys.stdout, _installed)
        root = logging.getLogger()
        if not root.handlers:  # otherwise log records would not reach Spark's log
            root.addHandler(logging.StreamHandler())
        root.addHandler(_LoggedRecords(_installed))
    _installed.take()  # drop the lines of another run
    _installed.path = path
    set_levels(levels)


def take_output() -> list[OutputLine]:
    """Return the lines of the current task, to be sent with its results."""
    return [] if _installed is None else _installed.take()


def take_last_output() -> list[OutputLine]:
    """Return the last lines of the current task, shortened, to be sent with its exception."""
    lines = take_output()[-_FAILURE_LINES:]
    return [
        line
        if len(line.text) <= _FAILURE_CHARACTERS
        else line._replace(text=f"{line.text[:_FAILURE_CHARACTERS]} …")
        for line in lines
    ]


def set_levels(levels: Mapping[str, str]) -> None:
    """Set the levels of loggers, by name; empty: of the root logger."""
    for name, level in levels.items():
        logging.getLogger(name or None).setLevel(level)


def repeat_output(logger: str | None, level: int, text: str, where: str) -> None:
    """Print or log a task's line in the user's process."""
    if logger is None:
        print(f"{where} {text}", file=sys.stderr)
    else:
        logging.getLogger(logger).log(level, "%s %s", where, text)
