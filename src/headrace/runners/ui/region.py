"""A region at the bottom of a terminal, which is redrawn below the program's output.

A program may print to the same terminal while the region is shown. So ``sys.stdout`` and
``sys.stderr``, if they are terminals, are replaced by writers: they erase the region, write the
program's text, and draw the region again below. The region is never drawn in the middle of a line.
If a program prints much, the region is drawn only in the pauses, so that printing stays fast.
"""

from __future__ import annotations

import atexit
import sys
import threading
import time
from typing import Any, TextIO

_ERASE_BELOW = "\x1b[J"
_BURST_SECONDS = 0.1
_BURST_WRITES = 10
"""After more writes than this within the burst time, the region is not redrawn for each."""


class Region:
    """The region of one terminal; ``out``: the stream to which it is drawn."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lock = threading.RLock()
        self._content: list[str] = []
        self._shown_lines = 0
        self._at_line_start = True
        self._burst_began_s = 0.0
        self._burst_writes = 0
        self._guards: list[tuple[str, TextIO, _Guard]] = []

    def open(self) -> None:
        """Replace the streams that write to the terminal."""
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if stream is not None and is_terminal(stream):
                guard = _Guard(stream, self)
                self._guards.append((name, stream, guard))
                setattr(sys, name, guard)
        atexit.register(self.close)

    def close(self) -> None:
        """Erase the region, and restore the streams."""
        with self._lock:
            self._content = []
            self.erase()
            for name, stream, guard in self._guards:
                if getattr(sys, name) is guard:
                    setattr(sys, name, stream)
            self._guards.clear()
        atexit.unregister(self.close)

    def draw(self, lines: list[str]) -> None:
        """Replace the shown lines, as soon as the cursor is at the beginning of a line."""
        with self._lock:
            self._content = lines
            self._draw()

    def restore(self) -> None:
        """Draw the region again if it was erased."""
        with self._lock:
            if not self._shown_lines:
                self._draw()

    def _draw(self) -> None:
        if self._at_line_start and self._content:
            text = "".join(f"{line}\x1b[K\n" for line in self._content)
            self._send(self._to_top() + text + _ERASE_BELOW)
            self._shown_lines = len(self._content)

    def erase(self) -> None:
        """Erase the region; ``draw`` or ``restore`` shows it again."""
        with self._lock:
            if self._shown_lines:
                self._send(self._to_top() + _ERASE_BELOW)
                self._shown_lines = 0

    def write_through(self, stream: TextIO, text: str) -> int:
        """Write to one of the terminal's streams, above the region."""
        with self._lock:
            self.erase()
            written = stream.write(text)
            if text:
                stream.flush()
                self._at_line_start = text.endswith("\n")
            if not self._is_in_burst():
                self._draw()
            return written

    def _is_in_burst(self) -> bool:
        now_s = time.monotonic()
        if now_s - self._burst_began_s > _BURST_SECONDS:
            self._burst_began_s, self._burst_writes = now_s, 0
        self._burst_writes += 1
        return self._burst_writes > _BURST_WRITES

    def _to_top(self) -> str:
        return f"\r\x1b[{self._shown_lines}A" if self._shown_lines else ""

    def _send(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


class _Guard:
    """Replaces a stream of the terminal: writes go through the region, the rest to the stream."""

    def __init__(self, stream: TextIO, region: Region) -> None:
        self._stream, self._region = stream, region

    def write(self, text: str) -> int:
        return self._region.write_through(self._stream, text)

    def writelines(self, lines: Any) -> None:
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def is_terminal(stream: Any) -> bool:
    """Return whether a stream is an open terminal."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):  # not a file, or closed
        return False
