"""The one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from bench.measure.latency import summary
from bench.throughput import Row, figures
from bench.ysb.events import WINDOW_MS
from bench.ysb.servers import Input
from bench.ysb.tallies import Result

_HEAD = """\
| | events/s | Headrace to it | start | latency at | median | p99 | longest |
|---|---:|---:|---:|---:|---:|---:|---:|"""
_OWN = "headrace"


def latencies(results: list[Result], given: Input) -> dict[str, float]:
    """What is told of the windows that are checked and that ended while events happened."""
    end_ms = given.events.time_ms(given.count)
    counted = [r for r in given.checked(results) if r.window_ms + WINDOW_MS <= end_ms]
    return summary([each.latency_ms for each in counted])


def table(rows: Sequence[Row], words: Mapping[str, str]) -> str:
    """A line for each contender: medians of its rounds."""
    rates = figures(row for row in rows if row["case"] == "ysb")
    own_rate = rates[_OWN].rate if _OWN in rates else None
    lines = [_HEAD]
    for name, said in words.items():
        own = [row for row in rows if row["contender"] == name]
        if not own:
            continue
        figure = rates.get(name)
        rate = figure.rate if figure else None
        start = figure.start if figure else None
        waits = [row for row in own if "values" in row]
        times = f"{own_rate / rate:.3g} x" if rate and own_rate else ""
        cells = [f"{rate:,.0f}" if rate else "", times, f"{start:.1f} s" if start else ""]
        cells.append(f"{median(row['rate'] for row in waits):,.0f}/s" if waits else "")
        for value in ("median_ms", "p99_ms", "max_ms"):
            cells.append(f"{median(r['values'][value] for r in waits):,.0f} ms" if waits else "")
        failed = " (failed)" if any("failure" in row for row in own) else ""
        lines.append(f"| {said}{failed} | {' | '.join(cells)} |")
    return "\n".join(lines)
