"""The display during a run: live, or a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from types import TracebackType

from headrace.demo.trades.kafka.feeding import Feeder
from headrace.demo.trades.kafka.watching import Watcher, percentile
from headrace.runners.ui.lines import Column, Line, Span, table_lines
from headrace.runners.ui.live import LineLog, LiveView
from headrace.runners.ui.terminal import shows_live

_LINE_SECONDS = 5.0
PERCENTS = (50, 90, 99)


class Display:
    """Shows what was sent, what each run has written, and the latencies."""

    def __init__(
        self,
        names: Sequence[str],
        watchers: Sequence[Watcher],
        feeder: Feeder | None,
        live: bool,
    ) -> None:
        self._names = names
        self._watchers, self._feeder = watchers, feeder
        self._started = time.monotonic()
        self._view = LiveView(self._render, 0) if live and shows_live() else None
        self._logs = [LineLog(sys.stdout, _LINE_SECONDS) for _ in names]

    def __enter__(self) -> Display:
        if self._view is not None:
            self._view.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._view is not None:
            self._view.stop()

    def update(self, *, last: bool = False) -> None:
        """Print a line of each run, if it is time, or if it is the last one."""
        if self._view is not None and not last:
            return  # it is drawn by its own thread
        for name, watcher, log in zip(self._names, self._watchers, self._logs, strict=True):
            log.update(lambda n=name, w=watcher: self._format_line(n, w), last=last)  # type: ignore[misc]

    def _format_line(self, name: str, watcher: Watcher) -> str:
        sent = "" if self._feeder is None else f"{self._feeder.sent:,} messages sent, "
        return (
            f"{name}: {sent}{watcher.normalised:,} normalised,"
            f" {watcher.documents:,} documents, {watcher.anomalies.total():,} anomalies"
            + (f"; last 10 s {_format_recent(watcher)}" if self._feeder is not None else "")
        )

    def _render(self, width: int, height: int) -> list[Line]:
        watchers = self._watchers
        seconds = f"{time.monotonic() - self._started:.0f} s"
        columns = [Column(seconds, 28), *(Column(name, 12, right=True) for name in self._names)]
        rows: list[tuple[str, list[str]]] = []
        if self._feeder is not None:
            rows.append(("messages sent", [f"{self._feeder.sent:,}" for _ in watchers]))
        rows.append(("events normalised", [f"{each.normalised:,}" for each in watchers]))
        rows.append(("documents", [f"{each.documents:,}" for each in watchers]))
        for kind in sorted({kind for each in watchers for kind in [*each.anomalies]}):
            rows.append((f"anomaly {kind}", [f"{each.anomalies[kind]:,}" for each in watchers]))
        if self._feeder is not None:
            recent = [_format_recent(each).split(", ") for each in watchers]
            for number, percent in enumerate(PERCENTS):
                texts = [each[number].removeprefix(f"p{percent} ") for each in recent]
                rows.append((f"event to document, p{percent}", texts))
        lines = [[[Span(title)], *([Span(text)] for text in texts)] for title, texts in rows]
        return table_lines(columns, lines)[:height]


def _format_recent(watcher: Watcher) -> str:
    return shown(watcher.latencies.recent(time.time_ns() // 1_000_000))


def shown(ordered: list[int]) -> str:
    """Percentiles as text: ``p50 640 ms, p90 …``."""
    found = [(percent, percentile(ordered, percent)) for percent in PERCENTS]
    return ", ".join(f"p{percent} {'-' if at is None else f'{at:,} ms'}" for percent, at in found)
