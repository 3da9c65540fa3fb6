"""The display during a run: a live table, or a line every few seconds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.table import Table

from headrace.demo.trades.kafka.feeding import Feeder
from headrace.demo.trades.kafka.watching import Watcher, percentile

_PLAIN_SECONDS = 5.0
PERCENTS = (50, 90, 99)


class Display:
    """Shows what was sent, what each run has written, and the latencies."""

    def __init__(
        self,
        names: Sequence[str],
        console: Console,
        watchers: Sequence[Watcher],
        feeder: Feeder | None,
        live: bool,
    ) -> None:
        self._names, self._console = names, console
        self._watchers, self._feeder = watchers, feeder
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
        """Show the current state."""
        now = time.monotonic()
        if self._live is not None:
            self._live.update(self._make_table(now), refresh=True)
        elif last or now - self._printed_at >= _PLAIN_SECONDS:
            self._printed_at = now
            for name, watcher in zip(self._names, self._watchers, strict=True):
                self._console.print(
                    self._format_line(name, watcher), soft_wrap=True, highlight=False
                )

    def _format_line(self, name: str, watcher: Watcher) -> str:
        sent = "" if self._feeder is None else f"{self._feeder.sent:,} messages sent, "
        return (
            f"{name}: {sent}{watcher.normalised:,} normalised,"
            f" {watcher.documents:,} documents, {watcher.anomalies.total():,} anomalies"
            + (f"; last 10 s {_format_recent(watcher)}" if self._feeder is not None else "")
        )

    def _make_table(self, now: float) -> Table:
        table = Table(min_width=56)
        table.add_column(f"{now - self._started:.0f} s")
        for name in self._names:
            table.add_column(name, justify="right")
        watchers = self._watchers
        if self._feeder is not None:
            table.add_row("messages sent", *(f"{self._feeder.sent:,}" for _ in watchers))
        table.add_row("events normalised", *(f"{each.normalised:,}" for each in watchers))
        table.add_row("documents", *(f"{each.documents:,}" for each in watchers))
        for kind in sorted({kind for each in watchers for kind in each.anomalies}):
            table.add_row(f"anomaly {kind}", *(f"{each.anomalies[kind]:,}" for each in watchers))
        if self._feeder is not None:
            recent = [_format_recent(each).replace(", ", "\n") for each in watchers]
            table.add_row("event to document, last 10 s", *recent)
        return table


def _format_recent(watcher: Watcher) -> str:
    return shown(watcher.latencies.recent(time.time_ns() // 1_000_000))


def shown(ordered: list[int]) -> str:
    """Percentiles as text: ``p50 640 ms, p90 …``."""
    found = [(percent, percentile(ordered, percent)) for percent in PERCENTS]
    return ", ".join(f"p{percent} {'-' if at is None else f'{at:,} ms'}" for percent, at in found)
