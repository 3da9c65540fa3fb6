"""Plots beside the results, drawn by matplotlib in an environment of its own.

``draw`` starts this file there; without that environment it says so and draws nothing.

All are in one style: Headrace is blue, what is compared with it gray, what does no more than
it must is hatched. A bar is the median of the rounds, with the least and the most. The value stands
at the bar. Where one bar would hide the rest the scale is logarithmic.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.names import HEADRACE, PLAIN, short, title, words

_PANELS = 3
_HIDES = 20
"""From this ratio on the smallest bar would hardly be seen."""

_STYLE = {
    "svg.hashsalt": "bench",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#e5e5e5",
    "hatch.color": "#9a9a9a",
    "hatch.linewidth": 0.6,
}
_BLUE, _GRAY, _LIGHT, _DARK = "#1f77b4", "#9a9a9a", "#e8e8e8", "#333333"


@dataclass(frozen=True)
class Bar:
    """A bar: its name in words, who it is of, and what the rounds gave."""

    name: str
    contender: str
    values: Sequence[float]

    @property
    def middle(self) -> float:
        """Its length."""
        return median(self.values)


@dataclass(frozen=True)
class Shown:
    """Which value of a measure is drawn, and of which points: those whose name begins so."""

    value: str
    label: str
    at: str = ""
    less: bool = True
    """Less is better."""
    mark: float | None = None
    """A line is drawn across here."""


MEASURES = {
    "lookups": Shown("lookups_per_second", "lookups per second", "over HTTP", less=False),
    "map-batches": Shown("time_to_plain_loop", "times as long as the loop", mark=1),
    "latency": Shown("median_ms", "median ms"),
    "trickle": Shown("ms_per_batch", "ms"),
    "start": Shown("first_output_seconds", "seconds"),
    "kafka": Shown("records_per_second", "records per second", less=False),
    "kafka-count": Shown("records_per_second", "records per second", less=False),
    "kafka-latency": Shown("median_ms", "median ms"),
}

BESIDE = {"windows-columns": ("windows", ("headrace", "flink-sql"))}
"""Cases that are drawn beside contenders of another one, whose records are the same."""


def draw(folder: Path) -> None:
    """Draw every plot of a folder of results anew, in the environment of the plots."""
    from bench.environments import ROOT, UnbuildableError, python_for

    try:
        python = python_for("plots")
    except UnbuildableError as error:
        print(f"no plots: {error}", file=sys.stderr)
        return
    subprocess.run([python, "-m", "bench.plots", str(folder)], cwd=ROOT, check=True)


def rates(results: Mapping[str, dict[str, Any]], case: str) -> list[Bar]:
    """A bar for each contender of a case, the slowest first; none where there is but one."""
    bars = _rates(results[case])
    other, beginnings = BESIDE.get(case, (case, ()))
    if beginnings and _run(results.get(other)) == _run(results[case]):
        bars += [bar for bar in _rates(results[other]) if bar.contender.startswith(beginnings)]
    return sorted(bars, key=lambda bar: bar.middle) if len(bars) > 1 else []


def _rates(result: dict[str, Any]) -> list[Bar]:
    from bench.throughput import figures

    found = [f for f in figures(result["rows"]).values() if f.rate]
    case = result["experiment"]
    return [Bar(words(f.contender, case), f.contender, f.rates) for f in found]


def _run(result: dict[str, Any] | None) -> Any:
    """The command that took a result: rates of different ones are not compared."""
    return result and (result.get("commit"), result.get("arguments"))


def values(result: dict[str, Any], shown: Shown) -> list[Bar]:
    """A bar for each contender and point of a measure, the best one last."""
    name, at = shown.value, shown.at
    groups: dict[tuple[str, str], list[float]] = {}
    for row in result["rows"]:
        point = str(row.get("point", ""))
        if name in row.get("values", {}) and point.startswith(at):
            groups.setdefault((row["contender"], point), []).append(row["values"][name])
    several = len({contender for contender, _ in groups}) > 1
    bars = []
    for (contender, point), rounds in groups.items():
        rest = point.removeprefix(at).lstrip(", ")
        said = [words(contender)] if several else []
        bars.append(Bar(": ".join([*said, rest] if rest else said), contender, rounds))
    return sorted(bars, key=lambda bar: bar.middle, reverse=shown.less)


def is_logarithmic(bars: Sequence[Bar]) -> bool:
    """Whether the longest bar would hide the shortest."""
    lengths = [bar.middle for bar in bars]
    return min(lengths) > 0 and max(lengths) > _HIDES * min(lengths)


def main(folder: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update(_STYLE)
    from bench.contenders import CASES

    found = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    for name, result in found.items():
        to = folder / f"{name}.svg"
        if name in ("growth", "batch-linear"):
            _points(result, to)
        elif name == "soak":
            _samples(result, to)
        elif name in CASES:
            _bars(rates(found, name), name, "records per second", to)
        elif name in MEASURES:
            shown = MEASURES[name]
            _bars(values(result, shown), name, shown.label, to, shown.mark)


def _save(figure: Any, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def _bars(
    bars: Sequence[Bar], name: str, label: str, path: Path, mark: float | None = None
) -> None:
    """Horizontal bars, the last one on top; ``mark`` is where a line is drawn across."""
    from matplotlib.figure import Figure

    if not bars:
        return
    figure = Figure(figsize=(8.2, 0.36 * len(bars) + 1.25))
    axes = figure.subplots()
    middles = [bar.middle for bar in bars]
    highest = [max(bar.values) for bar in bars]
    errors = [
        [bar.middle - min(bar.values) for bar in bars],
        [max(bar.values) - bar.middle for bar in bars],
    ]
    drawn = axes.barh(
        range(len(bars)),
        middles,
        xerr=errors if any(map(any, errors)) else None,
        error_kw={"ecolor": _DARK, "elinewidth": 1, "capsize": 2.5},
        height=0.72,
    )
    for patch, bar in zip(drawn, bars, strict=True):
        plain = bar.contender in PLAIN
        colour = _BLUE if bar.contender.startswith(HEADRACE) else _LIGHT if plain else _GRAY
        patch.set(facecolor=colour, hatch="///" if plain else None, edgecolor=_GRAY, linewidth=0)
    axes.set_yticks(range(len(bars)), [bar.name for bar in bars])
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    for at, (middle, high) in enumerate(zip(middles, highest, strict=True)):
        axes.annotate(
            short(middle),
            (high, at),
            (6, 0),
            textcoords="offset points",
            va="center",
            color=_DARK,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
        )
    rounds = max(len(bar.values) for bar in bars)
    if rounds > 1:
        label += f": median of {rounds} rounds, the least and the most"
    if is_logarithmic(bars):
        axes.set_xscale("log")
        axes.set_xlim(min(middles) / 3, max(highest) * 2.5)
        label += " (logarithmic)"
    else:
        axes.set_xlim(0, max(highest) * 1.12)
    if mark is not None:
        axes.axvline(mark, color=_DARK, linewidth=1, linestyle="--")
    axes.xaxis.set_major_formatter(lambda value, _: short(value))
    axes.set_xlabel(label, loc="right")
    figure.suptitle(title(name), x=0.012, ha="left", fontsize=11.5, fontweight="bold")
    _save(figure, path)


def _points(result: dict[str, Any], path: Path) -> None:
    """A panel for each axis and measure, over which the rounds' medians lie."""
    from matplotlib.figure import Figure

    axes_of: dict[tuple[str, str], dict[float, list[float]]] = {}
    for row in result["rows"]:
        if "values" in row:
            name, _, at = str(row["point"]).rpartition(" ")
            for measure, value in row["values"].items():
                points = axes_of.setdefault((name, measure.replace("_", " ")), {})
                points.setdefault(float(at.replace(",", "")), []).append(value)
    if not axes_of:
        return
    columns = min(len(axes_of), _PANELS)
    lines = -(-len(axes_of) // _PANELS)
    figure = Figure(figsize=(max(3.2 * columns, 5), 2.5 * lines + 0.5))
    panels = figure.subplots(lines, columns, squeeze=False).flat
    for ((name, measure), points), axes in zip(axes_of.items(), panels, strict=False):
        _panel(axes, dict(sorted(points.items())))
        axes.set_xlabel(name)
        axes.set_ylabel(measure)
    for axes in panels:
        axes.remove()
    figure.suptitle(
        title(result["experiment"]), x=0.012, ha="left", fontsize=11.5, fontweight="bold"
    )
    _save(figure, path)


def _samples(result: dict[str, Any], path: Path) -> None:
    """A panel for each measure of ``bench.soak``, over the minutes of its run."""
    from matplotlib.figure import Figure

    samples = result["samples"]
    measures = [name for name in samples[0] if name != "seconds"]
    lines = -(-len(measures) // _PANELS)
    figure = Figure(figsize=(3.2 * _PANELS, 2.5 * lines + 0.5))
    panels = figure.subplots(lines, _PANELS, squeeze=False).flat
    for name, axes in zip(measures, panels, strict=False):
        points = [(each["seconds"] / 60, each[name]) for each in samples if each[name] is not None]
        axes.plot(*zip(*points, strict=True), "-", color=_BLUE, linewidth=0.8)
        axes.set_ylim(0, 1.1 * max((value for _, value in points), default=1))
        axes.set_xlabel("minutes")
        axes.set_ylabel(name.replace("_", " "))
    figure.suptitle(
        f"{result['minutes']:g} minutes at {result['rate']:,} records per second, a restart every"
        f" {result['restart_minutes']:g} minutes",
        x=0.012, ha="left", fontsize=11.5, fontweight="bold",
    )  # fmt: skip
    _save(figure, path)


def _panel(axes: Any, points: dict[float, list[float]]) -> None:
    middles = [median(found) for found in points.values()]
    low = [at - min(found) for at, found in zip(middles, points.values(), strict=True)]
    high = [max(found) - at for at, found in zip(middles, points.values(), strict=True)]
    axes.errorbar(
        list(points), middles, [low, high], fmt="-o", color=_BLUE, markersize=4, linewidth=1.2,
        ecolor=_DARK, elinewidth=1, capsize=2.5,
    )  # fmt: skip
    axes.set_ylim(0, 1.1 * max(max(found) for found in points.values()))
    if max(points) > 50 * min(points):
        axes.set_xscale("log")
    axes.set_xticks(list(points))
    axes.minorticks_off()
    axes.grid(axis="y")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: short(value))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
