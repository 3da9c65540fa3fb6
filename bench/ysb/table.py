"""The one table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import TYPE_CHECKING

from bench.measure.latency import summary
from bench.throughput import Row, figures
from bench.ysb.contenders import CATCHING_UP, CONTENDERS, LIVE
from bench.ysb.events import WINDOW_MS

if TYPE_CHECKING:
    from bench.ysb.servers import Input
    from bench.ysb.tallies import Result

_HEAD = """\
| | events/s | Headrace to it | start | latency at | median | p99 | longest | rounds |
|---|--:|--:|--:|--:|--:|--:|--:|--:|"""
_OWN = "headrace"


def latencies(results: list[Result], given: Input) -> dict[str, float]:
    """What is told of the windows that are checked and that ended while events happened."""
    counted = _counted(results, given)
    return summary([each.latency_ms for each in counted]) if counted else {}


def by_window(results: list[Result], given: Input) -> list[float]:
    """The median latency of each of these windows, in their order."""
    found: dict[int, list[int]] = {}
    for each in _counted(results, given):
        found.setdefault(each.window_ms, []).append(each.latency_ms)
    return [median(found[window_ms]) for window_ms in sorted(found)]


def _counted(results: list[Result], given: Input) -> list[Result]:
    end_ms = given.events.time_ms(given.count)
    return [r for r in given.checked(results) if r.window_ms + WINDOW_MS <= end_ms]


def table(rows: Sequence[Row]) -> str:
    """A line for each contender, medians of its rounds (least to most), and why some failed."""
    rates = figures(row for row in rows if row["case"] == CATCHING_UP)
    own_rates = rates[_OWN].by_round if _OWN in rates else {}
    lines, failures = [_HEAD], []
    for contender in CONTENDERS:
        own = [row for row in rows if row["contender"] == contender.name]
        if not own:
            continue
        figure = rates.get(contender.name)
        by_round = figure.by_round if figure else {}
        to_it = [own_rates[n] / rate for n, rate in by_round.items() if n in own_rates]
        waits = [row["values"] for row in own if row["case"] == LIVE and "values" in row]
        cells = [_spread(by_round.values(), ",.0f"), _spread(to_it, ".3g", " x")]
        cells.append(f"{figure.start:.1f} s" if figure and figure.start is not None else "")
        cells.append(_middle((v["events_per_second"] for v in waits), ",.0f", "/s"))
        cells.append(_spread([v["median_ms"] for v in waits], ",.0f", " ms"))
        cells += [_middle((v[n] for v in waits), ",.0f", " ms") for n in ("p99_ms", "max_ms")]
        cells.append(f"{len(by_round)}, {len(waits)}")
        lines.append(f"| {contender.words} | {' | '.join(cells)} |")
        failures += [
            f"- {contender.words}, round {row['round'] + 1}, failed: `{_first(row['failure'])}`"
            for row in own
            if "failure" in row
        ]
    return "\n".join([*lines, *([""] if failures else []), *failures]) + "\n"


def _middle(values: Iterable[float], form: str, unit: str = "") -> str:
    found = [*values]
    return f"{median(found):{form}}{unit}" if found else ""


def _spread(values: Iterable[float], form: str, unit: str = "") -> str:
    found = [*values]
    if len(found) < 2:
        return _middle(found, form, unit)
    return f"{median(found):{form}} ({min(found):{form}} to {max(found):{form}}){unit}"


def _first(text: str) -> str:
    return text.strip().splitlines()[0].replace("`", "'")
