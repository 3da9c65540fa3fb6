"""What is shown while a run goes on: a live table, or a line every few seconds."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.table import Table

from headrace.demo.trades.kafka.feeding import Feeder
from headrace.demo.trades.kafka.watching import Watcher, percentile

_PLAIN_SECONDS = 5.0
PERCENTS = (50, 90, 99)


class Display:
    """Shows a run: what was sent, what came back, and how long that took."""

    def __init__(
        self, title: str, console: Console, watcher: Watcher, feeder: Feeder | None, live: bool
    ) -> None:
        self._title, self._console = title, console
        self._watcher, self._feeder = watcher, feeder
        self._started = time.monotonic()
        self._printed_at = self._started
        self._live = (
            Live(console=console, auto_refresh=False) if live and console.is_terminal else None
        )

    def __enter__(self) -> Display:
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

    def update(self, *, last: bool = False) -> None:
        """Show it as it is now."""
        now = time.monotonic()
        if self._live is not None:
            self._live.update(self._table(now), refresh=True)
        elif last or now - self._printed_at >= _PLAIN_SECONDS:
            self._printed_at = now
            self._console.print(self._line(), soft_wrap=True, highlight=False)

    def _line(self) -> str:
        watcher = self._watcher
        sent = "" if self._feeder is None else f"{self._feeder.sent:,} messages sent, "
        return (
            f"{self._title}: {sent}{watcher.normalised:,} normalised,"
            f" {watcher.documents:,} documents, {watcher.anomalies.total():,} anomalies"
            + (f"; last 10 s {self._recent()}" if self._feeder is not None else "")
        )

    def _recent(self) -> str:
        return shown(self._watcher.latencies.recent(time.time_ns() // 1_000_000))

    def _table(self, now: float) -> Table:
        watcher = self._watcher
        table = Table(title=self._title, show_header=False, min_width=56)
        table.add_column()
        table.add_column(justify="right")
        table.add_row("seconds", f"{now - self._started:.0f}")
        if self._feeder is not None:
            table.add_row("messages sent", f"{self._feeder.sent:,}")
        table.add_row("events normalised", f"{watcher.normalised:,}")
        table.add_row("documents", f"{watcher.documents:,}")
        for kind, count in sorted(watcher.anomalies.items()):
            table.add_row(f"anomaly {kind}", f"{count:,}")
        if self._feeder is not None:
            table.add_row("event to document, last 10 s", self._recent())
        return table


def shown(ordered: list[int]) -> str:
    """Percentiles as text: ``p50 640 ms, p90 …``."""
    found = [(percent, percentile(ordered, percent)) for percent in PERCENTS]
    return ", ".join(f"p{percent} {'-' if at is None else f'{at:,} ms'}" for percent, at in found)
