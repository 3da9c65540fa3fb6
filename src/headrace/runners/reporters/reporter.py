"""``Reporter``: sends or serves the metrics of a job. ``ReportErrors``: prints its errors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Protocol

from headrace.runners.reporters.samples import Sample

Samples = Callable[[], list[Sample]]
"""Returns the current values of the metrics that a reporter is configured to report."""


class Reporter(Protocol):
    """Reports the metrics of one job."""

    def start(self, samples: Samples) -> None:
        """Called once, when the job starts."""

    def report(self) -> None:
        """Called at each interval, and at the job's end.

        An exception is counted and printed; the job continues.
        """

    def close(self) -> None:
        """Called once, after the last report."""


class ReportErrors:
    """Counts the failed reports of one reporter; of failures in a row only the first is printed."""

    def __init__(self, name: str, purpose: str) -> None:
        self._name, self._purpose = name, purpose
        self._reports = self._in_a_row = 0
        self.count = 0

    def run(self, report: Callable[[], None]) -> None:
        """Call ``report``; count and print its exception."""
        self._reports += 1
        try:
            report()
        except Exception as error:
            self.count += 1
            self._in_a_row += 1
            if self._in_a_row == 1:
                self._print(
                    f"could not report: {type(error).__name__}: {error}."
                    " The job continues, and the reporter tries again at each interval"
                )
            return
        if self._in_a_row:
            self._print(f"reports again, after {self._in_a_row} failed reports")
            self._in_a_row = 0

    def close(self, close: Callable[[], None]) -> None:
        """Call ``close``, print its exception, and print how many reports failed, if any did."""
        try:
            close()
        except Exception as error:
            self._print(f"could not be closed: {type(error).__name__}: {error}")
        if self.count:
            self._print(f"{self.count} of {self._reports} reports failed")

    def _print(self, text: str) -> None:
        print(
            f"headrace: the metric reporter {self._name!r} ({self._purpose}) {text}",
            file=sys.stderr,
        )
