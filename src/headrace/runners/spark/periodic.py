"""Does something for a running job at an interval."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

from headrace.errors import HeadraceError


class Periodic:
    """Calls ``act`` at each interval, in a thread, until it is closed.

    If ``act`` takes longer than the interval, the next one begins ``min_pause_ms`` after it.
    ``what``: what a failure is printed of. ``fail`` is called with the error of more failures in a
    row than ``tolerable_failures`` (None: any number).
    """

    def __init__(
        self,
        what: str,
        act: Callable[[], None],
        interval_ms: int,
        min_pause_ms: int = 0,
        tolerable_failures: int | None = None,
        fail: Callable[[BaseException], None] = lambda error: None,
    ) -> None:
        self._what, self._act = what, act
        self._interval_s, self._min_pause_s = interval_ms / 1000, min_pause_ms / 1000
        self._tolerable, self._fail = tolerable_failures, fail
        self._closed = threading.Event()
        self._failures = 0
        self._thread = threading.Thread(target=self._run, name="headrace-periodic", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        wait_s = self._interval_s
        while not self._closed.wait(wait_s):
            began = time.monotonic()
            try:
                self._act()
                self._failures = 0
            except (HeadraceError, OSError) as error:
                if self._closed.is_set():
                    return
                self._failed(error)
            took_s = time.monotonic() - began
            wait_s = max(self._interval_s - took_s, self._min_pause_s)

    def _failed(self, error: Exception) -> None:
        self._failures += 1
        print(
            f"headrace: {self._what} was not kept ({self._failures} in a row): {error}",
            file=sys.stderr,
        )
        if self._tolerable is not None and self._failures > self._tolerable:
            self._failures = 0
            self._fail(error)

    def close(self) -> None:
        """Begin no more."""
        self._closed.set()
