"""The thread of a job, and a wait for its end that a signal may interrupt."""

from __future__ import annotations

import threading
from collections.abc import Callable


class JobThread:
    """Runs a job in a daemon thread, from the constructor on.

    An event is waited for, and not the thread: in Python 3.11 a join that a signal handler ends by
    an exception takes the running thread for ended (bpo-45274).
    """

    def __init__(self, run: Callable[[], None]) -> None:
        self._run, self._over = run, threading.Event()
        threading.Thread(target=self._run_to_the_end, name="headrace-job", daemon=True).start()

    def _run_to_the_end(self) -> None:
        try:
            self._run()
        finally:
            self._over.set()

    def wait(self) -> None:
        """Wait for the end."""
        self._over.wait()
