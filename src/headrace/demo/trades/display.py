"""The progress display of a running job."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

_ANOMALIES = (
    "MALFORMED",
    "UNKNOWN_INSTRUMENT",
    "UNKNOWN_ACCOUNT",
    "DUPLICATE",
    "OVERFILL",
    "CLOSED_ORDER",
    "ORPHAN",
    "LATE",
)
_PLAIN_SECONDS = 5.0


class Progress:
    """A live table of the job's counters; without a terminal, a line every few seconds."""

    def __init__(self, mode: str, console: Console, live: bool) -> None:
        self._title = f"trades as a {'batch' if mode == 'BATCH' else 'stream'}"
        self._console = console
        self._started = time.monotonic()
        self._live = (
            Live(console=console, auto_refresh=False) if live and console.is_terminal else None
        )
        self._printed_at = self._started
        self._printed = ""
        self._records: list[tuple[float, int]] = []
        self._shown: Mapping[str, Any] = {}

    def __enter__(self) -> Progress:
        if self._live is not None:
            self._live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.__exit__(kind, error, traceback)
        elif error is None and self._format_line() != self._printed:
            self._print_line()

    def update(self, counters: Mapping[str, Any]) -> None:
        """Show ``counters``."""
        now = time.monotonic()
        self._shown = counters
        records = _sum_counter(counters, "records")
        if not self._records or self._records[-1][1] != records:
            self._records.append((now, records))
        if self._live is not None:
            self._live.update(self._make_table(now), refresh=True)
        elif now - self._printed_at >= _PLAIN_SECONDS and self._format_line() != self._printed:
            self._printed_at = now
            self._print_line()

    def _compute_rate(self) -> float:
        """Return the records per second, from the first finished micro-batch to the last.

        If there is only one, from the start of the job.
        """
        points = [(self._started, 0), *self._records]
        (start, first), (end, last) = points[2 if len(points) > 3 else 0], points[-1]
        return (last - first) / (end - start) if end > start else 0.0

    def _print_line(self) -> None:
        self._printed = self._format_line()
        self._console.print(self._printed, soft_wrap=True, highlight=False)

    def _format_line(self) -> str:
        shown = self._shown
        records = _sum_counter(shown, "records")
        if not records:
            return f"{self._title}: no records yet"
        watermark = shown.get("currentWatermark")
        anomalies = _sum_counter(shown, "anomalies")
        return (
            f"{self._title}: {records:,} records in,"
            f" {_sum_counter(shown, 'documents'):,} documents and {anomalies:,} anomalies out"
            + (f", watermark {_format_moment(watermark)}" if watermark is not None else "")
        )

    def _make_table(self, now: float) -> Table:
        shown = self._shown
        table = Table(title=self._title, show_header=False, min_width=48)
        table.add_column()
        table.add_column(justify="right")
        hierarchies, still_open = _sum_counter(shown, "hierarchies"), _sum_counter(shown, "open")
        table.add_row("seconds", f"{now - self._started:.0f}")
        table.add_row("records in", f"{_sum_counter(shown, 'records'):,}")
        table.add_row("records/s", f"{self._compute_rate():,.0f}")
        table.add_row("documents out", f"{_sum_counter(shown, 'documents'):,}")
        table.add_row("watermark", _format_moment(shown.get("currentWatermark")))
        table.add_row("hierarchies open", f"{still_open:,}")
        table.add_row("hierarchies closed or filled", f"{hierarchies - still_open:,}")
        for kind in _ANOMALIES:
            count = _sum_counter(shown, f"kind.{kind}.anomalies")
            if count:
                table.add_row(f"anomaly {kind}", f"{count:,}")
        return table


def _sum_counter(counters: Mapping[str, Any], name: str) -> int:
    """Return the sum of a counter over the operators that have it."""
    return sum(int(v) for key, v in counters.items() if f".{key}".endswith(f".{name}"))


def _format_moment(watermark_ms: int | None) -> str:
    if watermark_ms is None or abs(watermark_ms) > 1 << 52:
        return "-"
    return datetime.fromtimestamp(watermark_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
