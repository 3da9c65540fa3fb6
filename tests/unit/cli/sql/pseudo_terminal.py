"""A program in a pseudo-terminal, to be typed to; every wait has an end."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from types import TracebackType

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]|\r|\x07")
TIMEOUT_SECONDS = 60.0


class PseudoTerminal:
    """Runs a program whose input and output are a terminal of 40 lines and 120 columns."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        self._controller, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self._process = subprocess.Popen(
            command,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env={**environ, "TERM": "xterm"},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # so that Ctrl-C is a signal
        )
        os.close(terminal)
        self._raw = b""
        self.seen = ""
        """All output so far, without control characters."""
        self._read_to = 0

    def type(self, text: str) -> None:
        """Type characters."""
        os.write(self._controller, text.encode())

    def interrupt(self) -> None:
        """Type Ctrl-C."""
        self.type("\x03")

    def wait_for(self, text: str) -> str:
        """Return the output from the last wait up to a text, which is waited for."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while (found := self.seen.find(text, self._read_to)) < 0:
            if not self._read(deadline - time.monotonic()):
                raise AssertionError(f"{text!r} did not come: {self.seen[self._read_to :]!r}")
        begin, self._read_to = self._read_to, found + len(text)
        return self.seen[begin : self._read_to]

    def end(self) -> int:
        """Wait for the end of the program, and return its exit code."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while self._read(deadline - time.monotonic()):
            pass
        return self._process.wait(timeout=TIMEOUT_SECONDS)

    def _read(self, timeout_s: float) -> bool:
        """Read what there is; return False after the timeout, and at the end of the output."""
        ready, _, _ = select.select([self._controller], [], [], max(0.0, timeout_s))
        if not ready:
            return False
        try:
            read = os.read(self._controller, 1 << 16)
        except OSError:  # the program has closed the terminal
            return False
        self._raw += read
        self.seen = _CONTROL.sub("", self._raw.decode("utf-8", errors="replace"))
        return bool(read)

    def __enter__(self) -> PseudoTerminal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(timeout=TIMEOUT_SECONDS)
        os.close(self._controller)
