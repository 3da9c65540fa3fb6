"""Measures, writes ``bench/results/*.json``, and from them ``bench/RESULTS.md`` and the plots.

python -m bench                                   everything (some hours)
python -m bench a b --peers headrace,pyflink      some experiments, some peers
python -m bench a --scale 0.1 --runs 1            a try
python -m bench --report                          the page and the plots again, from the results

The cases named together take turns in every round, all on the same two cores. What is measured with
some peers, at another scale or in fewer than three rounds goes to ``build/bench/try``, and so does
what a run has until its last round. ``--report --runs 1`` writes the page of the tries.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench import layers, plots, processes, report, results, throughput
from bench.contenders import CASES
from bench.environments import ROOT
from bench.kafka import inputs, rates
from bench.kafka import latency as kafka_latency
from bench.measure import (
    avro,
    batches,
    doubling,
    firing,
    growth,
    latency,
    lookups,
    memory,
    patterns,
    sql_formats,
    sql_start,
    stages,
    start,
    trickle,
)
from bench.results import ROUNDS
from bench.throughput import Plan

Rows = list[dict[str, Any]]

# What is no rate; each gives the rows of one round.
MEASURES: dict[str, Callable[[Plan], Rows]] = {
    "latency": latency.measure,
    "trickle": trickle.measure,
    "stages": stages.measure,
    "doubling": doubling.measure,
    "layers": layers.rows_of,
    "start": start.measure,
    "memory": memory.measure,
    "firing": firing.measure,
    "patterns-memory": patterns.measure,
    "batch-linear": growth.batch_linear,
    "growth": growth.measure,
    "lookups": lookups.measure,
    "map-batches": batches.measure,
    "kafka": partial(rates.measure, inputs.STATELESS),
    "kafka-count": partial(rates.measure, inputs.COUNT),
    "kafka-latency": kafka_latency.measure,
    "avro": avro.measure,
    "sql-kafka": partial(rates.measure, inputs.SQL),
    "sql-start": sql_start.measure,
    "sql-formats": sql_formats.measure,
}

ALONE = (
    "layers",
    "memory",
    "patterns-memory",
    "batch-linear",
    "growth",
    "lookups",
    "map-batches",
    "avro",
    "sql-start",
    "sql-formats",
)
"""Those without a peer."""


def experiments() -> list[str]:
    """The names of all experiments, in the order in which they run."""
    return [*CASES, *MEASURES]


def run(names: list[str], plan: Plan) -> Iterator[tuple[str, Rows, int]]:
    """After every round the rows of an experiment so far, with the number of its rounds."""
    cases = [CASES[name] for name in names if name in CASES]
    if cases:
        for done, rows in enumerate(throughput.measure(cases, plan), 1):
            for name, found in rows.items():
                yield name, found, done
    for name in names:
        if name in MEASURES and (name not in ALONE or plan.takes("headrace")):
            so_far: Rows = []
            for number in range(plan.runs):
                so_far += [{"round": number, **row} for row in MEASURES[name](plan)]
                yield name, so_far, number + 1


def is_whole(plan: Plan) -> bool:
    """Whether what is measured so takes the place of the committed results."""
    return plan.scale == 1 and not plan.peers and plan.runs >= ROUNDS


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
    parser.add_argument("--runs", type=int, default=ROUNDS, help="rounds; medians are of these")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies every size")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    chosen = parser.parse_args()
    unknown = set(chosen.experiments) - set(experiments())
    if unknown:
        parser.error(f"no such experiment: {', '.join(sorted(unknown))}")
    plan = Plan(chosen.runs, chosen.scale, tuple(filter(None, chosen.peers.split(","))))
    whole = is_whole(plan)
    tries = processes.scratch() / "try"
    home = Path(__file__).parent if whole else tries
    folder = home / "results"
    processes.stay_on_two_cores()
    failed = False
    names = [] if chosen.report else chosen.experiments or experiments()
    for name, rows, rounds in run(names, plan):
        last = rounds == plan.runs
        settings = {"runs": rounds, "scale": plan.scale}
        path = results.save(folder if last else tries / "results", name, rows, settings)
        print(f"{name}: {path}", file=sys.stderr)
        failed = failed or any("failure" in row for row in rows)
    plots.draw(folder)
    print(report.write(home / "RESULTS.md", folder), file=sys.stderr)
    if whole:
        report.put_into_pages(ROOT, folder)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
