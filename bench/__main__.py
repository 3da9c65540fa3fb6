"""Measures, writes ``bench/results/*.json``, and from them ``bench/RESULTS.md`` and the plots.

python -m bench                                   everything (some hours)
python -m bench a b --peers headrace,pyflink      some experiments, some peers
python -m bench a --scale 0.1 --runs 1            a try
python -m bench --report                          the page and the plots again, from the results

What is measured with some peers or at another scale goes to ``build/bench/try``: figures that are
compared come from one run.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import layers, plots, processes, report, results, throughput
from bench.contenders import CASES
from bench.measure import doubling, growth, latency, memory, start, trickle
from bench.throughput import Plan

Rows = list[dict[str, Any]]

MEASURES: dict[str, Callable[[Plan], Rows]] = {
    "latency": latency.measure,
    "trickle": trickle.measure,
    "doubling": doubling.measure,
    "layers": layers.rounds,
    "start": start.measure,
    "memory": memory.measure,
    "batch-linear": growth.batch_linear,
    "growth": growth.measure,
}


def experiments() -> list[str]:
    """The names of all experiments, in the order in which they run."""
    return [*CASES, *MEASURES]


def run(name: str, plan: Plan) -> Rows:
    """The rows of one experiment."""
    if name in CASES:
        return throughput.measure(CASES[name], plan)
    return MEASURES[name](plan)


def main() -> int:
    # Ended from outside, it still ends the peer that runs.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "experiments", nargs="*", metavar="EXPERIMENT", help=", ".join(experiments())
    )
    parser.add_argument("--peers", default="", help="names or their beginnings, with commas")
    parser.add_argument("--runs", type=int, default=3, help="rounds; medians are of these")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies every size")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    chosen = parser.parse_args()
    unknown = set(chosen.experiments) - set(experiments())
    if unknown:
        parser.error(f"no such experiment: {', '.join(sorted(unknown))}")
    plan = Plan(chosen.runs, chosen.scale, tuple(filter(None, chosen.peers.split(","))))
    whole = plan.scale == 1 and not plan.peers
    home = Path(__file__).parent if whole else processes.scratch() / "try"
    folder = home / "results"
    failed = False
    for name in [] if chosen.report else chosen.experiments or experiments():
        rows = run(name, plan)
        path = results.save(folder, name, rows, {"runs": plan.runs, "scale": plan.scale})
        print(f"{name}: {path}", file=sys.stderr)
        failed = failed or any("failure" in row for row in rows)
    report.write(home / "RESULTS.md", folder)
    plots.draw(folder)
    print(report.write(home / "RESULTS.md", folder), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
