"""``headrace run --supervise``: starts a program again when its process has died."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Sequence
from types import FrameType

from headrace.common._options.catalogue import RESTARTED_VARIABLE, START_VARIABLE
from headrace.errors import JobError
from headrace.runners.clock import monotonic_ms
from headrace.runners.restarts import ExponentialDelay
from headrace.runners.signals import ENDING_SIGNALS

MENDABLE = 75
"""The exit code (EX_TEMPFAIL) of an error that a restart may mend."""

_INITIAL_MS, _MAX_MS, _RESET_MS = 500, 60_000, 600_000
_SIGNALS = (signal.SIGINT, *ENDING_SIGNALS)
_MENDABLE_ERRNOS = {errno.ENOSPC, errno.EIO, errno.ESTALE, errno.EDQUOT, errno.ETIMEDOUT}


def exit_code_of(error: BaseException) -> int:
    """Return the exit code of a program that ended with an error.

    A job that has failed with an exception of its own functions has used up its restart strategy,
    and would fail again.
    """
    if isinstance(error, JobError | ConnectionError | TimeoutError):
        return MENDABLE
    if isinstance(error, OSError) and error.errno in _MENDABLE_ERRNOS:
        return MENDABLE
    return 1


class Supervisor:
    """Runs a command until it ends by itself, and starts it again when it has died.

    ``command``: the program. ``restarts``: how many in a row, without ten minutes between them.
    """

    def __init__(self, command: Sequence[str], restarts: int) -> None:
        self._command = command
        self._strategy = ExponentialDelay(
            *(_INITIAL_MS, _MAX_MS, 2.0, _RESET_MS, 0.1, restarts),
            lambda: random.uniform(-1, 1),
        )
        self._child: subprocess.Popen[bytes] | None = None
        self._ended_by: int | None = None
        self._ending = threading.Event()
        # A start that is repeated must not remove the checkpoint that the first one made.
        self._environment = {**os.environ, START_VARIABLE: uuid.uuid4().hex}

    def run(self) -> int:
        """Run the program, and return the exit code of its last run."""
        before = {number: signal.signal(number, self._pass_on) for number in _SIGNALS}
        try:
            while True:
                code = self._run_once()
                exit_code = code if code >= 0 else 128 - code
                reason = None if self._ended_by is not None else _reason_of(code)
                if reason is None:
                    return exit_code
                delay_ms = self._strategy.delay_ms(monotonic_ms())
                if delay_ms is None:
                    print(
                        f"headrace: the program {reason}; after too many restarts in a row, it is"
                        " not started again",
                        file=sys.stderr,
                    )
                    return exit_code
                print(
                    f"headrace: the program {reason}; it is started again in"
                    f" {delay_ms / 1000:.1f} s",
                    file=sys.stderr,
                )
                self._environment[RESTARTED_VARIABLE] = reason
                if self._ending.wait(delay_ms / 1000):
                    return 128 + (self._ended_by or 0)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _run_once(self) -> int:
        # In a group of its own: a Ctrl-C of the terminal reaches it once, by this process.
        self._child = subprocess.Popen(self._command, env=self._environment, process_group=0)
        if self._ended_by is not None:
            self._child.send_signal(self._ended_by)
        return self._child.wait()

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        self._ended_by = number
        self._ending.set()
        child = self._child
        if child is not None and child.returncode is None:
            child.send_signal(number)


def _reason_of(code: int) -> str | None:
    """Return why a program that ended with a code is started again; None if it is not."""
    if code == MENDABLE:
        return "failed with an error that may be gone"
    if code >= 0:
        return None
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
