"""Plots beside the results, drawn by matplotlib in an environment of its own.

``draw`` starts this file there; without that environment it says so and draws nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

_PANELS = 3


def draw(folder: Path) -> None:
    """Draw every plot of a folder of results anew, in the environment of the plots."""
    from bench.environments import ROOT, UnbuildableError, python_for

    try:
        python = python_for("plots")
    except UnbuildableError as error:
        print(f"no plots: {error}", file=sys.stderr)
        return
    subprocess.run([python, "-m", "bench.plots", str(folder)], cwd=ROOT, check=True)


def main(folder: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "bench", "font.size": 9})
    from bench.contenders import CASES

    for path in sorted(folder.glob("*.json")):
        result = json.loads(path.read_text())
        if result["experiment"] in ("growth", "batch-linear"):
            _points(result, folder)
        elif result["experiment"] in CASES:
            _rates(result, folder)


def _save(figure: Any, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def _rates(result: dict[str, Any], folder: Path) -> None:
    from matplotlib.figure import Figure

    from bench.throughput import figures

    found = [f for f in figures(result["rows"]).values() if f.rate]
    if len(found) < 2:
        return
    found.sort(key=lambda f: f.rate or 0)
    figure = Figure(figsize=(6, 0.35 * len(found) + 0.9))
    axes = figure.subplots()
    rates = [f.rate or 0 for f in found]
    low = [rate - f.rates[0] for rate, f in zip(rates, found, strict=True)]
    high = [f.rates[-1] - rate for rate, f in zip(rates, found, strict=True)]
    colours = ["tab:blue" if f.contender.startswith("headrace") else "tab:gray" for f in found]
    axes.barh([f.contender for f in found], rates, xerr=[low, high], color=colours)
    axes.set_xlabel(f"records per second, case {result['experiment']}")
    _save(figure, folder / f"{result['experiment']}.svg")


def _points(result: dict[str, Any], folder: Path) -> None:
    from matplotlib.figure import Figure

    axes_of: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in result["rows"]:
        if "values" in row:
            name, _, at = str(row["point"]).rpartition(" ")
            for measure, value in row["values"].items():
                point = float(at.replace(",", "")), value
                axes_of.setdefault((name, measure.replace("_", " ")), []).append(point)
    if not axes_of:
        return
    lines = -(-len(axes_of) // _PANELS)
    figure = Figure(figsize=(3.2 * min(len(axes_of), _PANELS), 2.6 * lines))
    panels = figure.subplots(lines, min(len(axes_of), _PANELS), squeeze=False).flat
    for ((name, measure), points), axes in zip(axes_of.items(), panels, strict=False):
        axes.plot(*zip(*sorted(points), strict=True), "o", markersize=4)
        axes.set_xlabel(name)
        axes.set_ylabel(measure)
        axes.set_ylim(0, 1.1 * max(p[1] for p in points))
        if max(p[0] for p in points) > 50 * min(p[0] for p in points):
            axes.set_xscale("log")
    for axes in panels:
        axes.remove()
    _save(figure, folder / f"{result['experiment']}.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
