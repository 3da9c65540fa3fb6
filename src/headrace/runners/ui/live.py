"""Shows a view while something runs: live in a terminal or a notebook, or as lines of a log."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, TextIO

from headrace.runners.ui.lines import Line, to_ansi, to_rich
from headrace.runners.ui.region import Region

REFRESH_SECONDS = 0.25
LINE_SECONDS = 10.0
_RESTORES = 5
"""How many times, between two refreshes, a view that a program's output erased is redrawn."""

_NOTEBOOK_SECONDS, _NOTEBOOK_WIDTH, _NOTEBOOK_LINES = 0.5, 110, 60
_SPARE_LINES = 2
"""Lines of the terminal that the view leaves free."""


Render = Callable[[int, int], list[Line]]
"""Returns the lines of a view for a width and at most a number of lines."""


class LiveView:
    """Shows ``render(width, lines)`` repeatedly, in a separate thread.

    Several views share a terminal, one below the other. ``delay_seconds``: nothing is shown before
    this time.
    """

    def __init__(self, render: Render, delay_seconds: float = 1.0) -> None:
        self._render, self._delay = render, delay_seconds
        self._stop = threading.Event()
        self.shown = False
        self._thread = threading.Thread(target=self._run, name="headrace-display", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread, and wait until the view is erased."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        if self._stop.wait(self._delay):
            return
        self.shown = True
        if is_notebook():
            self._run_in_notebook()
        else:
            _screen.add(self._render)
            self._stop.wait()
            _screen.remove(self._render)

    def _run_in_notebook(self) -> None:
        display = import_module("IPython.display").display

        shown: Any = display(self._in_notebook(), display_id=True)
        while not self._stop.wait(_NOTEBOOK_SECONDS):
            shown.update(self._in_notebook())
        shown.update(self._in_notebook())

    def _in_notebook(self) -> Any:
        return to_rich(self._render(_NOTEBOOK_WIDTH, _NOTEBOOK_LINES))


class _Screen:
    """The region at the bottom of the terminal, with the views that are shown now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._views: list[Render] = []
        self._changed = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, view: Render) -> None:
        """Add a view below the others."""
        with self._lock:
            self._views.append(view)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="headrace-screen")
                self._thread.daemon = True
                self._thread.start()

    def remove(self, view: Render) -> None:
        """Remove a view; after the last one, wait until the terminal is restored."""
        with self._lock:
            self._views.remove(view)
            last = None
            if not self._views:
                last, self._thread = self._thread, None
                self._changed.set()
            if last is not None:  # within the lock: the next view begins when this one has ended
                last.join()
                self._changed.clear()

    def _run(self) -> None:
        region = Region(sys.stderr)
        region.open()
        try:
            while not self._changed.is_set():
                region.draw(self._lines())
                for _ in range(_RESTORES):
                    if self._changed.wait(REFRESH_SECONDS / _RESTORES):
                        break
                    region.restore()
        finally:
            region.close()

    def _lines(self) -> list[str]:
        width, height = shutil.get_terminal_size((100, 30))
        left = max(height - _SPARE_LINES, 1)
        views = [*self._views]
        lines: list[Line] = []
        for number, view in enumerate(views):
            share = (left - len(lines)) // (len(views) - number)
            lines += view(width, share)[: max(share, 0)]
        return [to_ansi(line, width) for line in lines]


_screen = _Screen()


def is_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


class LineLog:
    """Prints a line at most every ``seconds``, and only if it differs from the last one."""

    def __init__(
        self,
        stream: TextIO | None = None,
        seconds: float = LINE_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream, self._seconds, self._monotonic = stream, seconds, monotonic
        self._printed_at = monotonic()
        self._printed = ""

    @property
    def used(self) -> bool:
        """Whether a line was printed."""
        return bool(self._printed)

    def update(self, line: Callable[[], str], *, last: bool = False) -> None:
        """Print the line if it is time, or if it is the last one."""
        now = self._monotonic()
        if not last and now - self._printed_at < self._seconds:
            return
        self._printed_at = now
        text = line()
        if text != self._printed:
            self._printed = text
            print(text, file=self._stream or sys.stderr, flush=True)
