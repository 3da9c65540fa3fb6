"""This checkout against another, in turns: ``python -m bench.against CHECKOUT [EXPERIMENT ...]``.

Each round runs every experiment with both engines, one after the other, and the next round in the
other order, so that a machine that gets slower is slow for both. For each figure it prints this
checkout's rate by the other's, the median over the rounds: above 1, this one is faster. ``cpu`` is
the rate by processor time of all processes together, which a busy machine changes less.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

from bench import processes
from bench.contenders import CASES, CONTENDERS, size
from bench.environments import ROOT
from bench.measure import start, trickle
from bench.throughput import Plan, figures, one

OWN = ("headrace",)
RATES = ("a", "c", "d", "a-million")

Measure = Callable[[Plan], Mapping[str, float]]
"""Gives rates by name: of records, of micro-batches, or of first outputs, per second."""


class UnmeasuredError(RuntimeError):
    """A run failed, or its figures make no slope."""


def _rate(name: str) -> Measure:
    def measure(plan: Plan) -> Mapping[str, float]:
        case, contender = CASES[name], CONTENDERS["headrace"]
        sizes = case.sizes[contender.name]
        rows = [one(case, contender, size(records, plan.scale, case.step)) for records in sizes]
        figure = figures([{**row, "round": 0} for row in rows])[contender.name]
        if figure.rate is None:
            raise UnmeasuredError(f"{name}: {figure.failure}")
        return {name: figure.rate, f"{name}, cpu": 1e6 / sum(figure.processor.values())}

    return measure


def _small_batches(plan: Plan) -> Mapping[str, float]:
    row = trickle.cost(trickle.headrace(), *trickle.batches(plan.scale))
    if "failure" in row:
        raise UnmeasuredError(f"trickle: {row['failure']}")
    names = {"": "ms_per_batch", ", cpu": "processor_ms_per_batch"}
    return {f"batch of 100{kind}": 1000 / row["values"][name] for kind, name in names.items()}


def _first_output(plan: Plan) -> Mapping[str, float]:
    found = {}
    for row in start.measure(plan):
        if "failure" in row:
            raise UnmeasuredError(f"{row['contender']}: {row['failure']}")
        seconds = row["values"]["first_output_seconds"]
        found[f"first output, {row['contender'].removeprefix('headrace-')}"] = 1 / seconds
    return found


MEASURES: dict[str, Measure] = {
    **{name: _rate(name) for name in RATES},
    "trickle": _small_batches,
    "start": _first_output,
}


def compare(checkout: Path, names: list[str], plan: Plan) -> dict[str, list[float]]:
    """By figure, the ratio of each round."""
    ratios: dict[str, list[float]] = {}
    for number in range(plan.runs):
        for name in names:
            found: dict[Path, Mapping[str, float]] = {}
            for engine in (ROOT, checkout) if number % 2 else (checkout, ROOT):
                with processes.engine_of(engine):
                    found[engine] = MEASURES[name](plan)
            for figure, rate in found[ROOT].items():
                other = found[checkout][figure]
                ratios.setdefault(figure, []).append(rate / other)
                print(
                    f"{figure:<28} {rate:>12,.1f} /s here {other:>12,.1f} /s there"
                    f" {rate / other:.3f}",
                    file=sys.stderr,
                )
    return ratios


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path, help="another checkout of Headrace")
    parser.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help=", ".join(MEASURES))
    parser.add_argument("--runs", type=int, default=3, help="rounds")
    parser.add_argument("--scale", type=float, default=0.5, help="multiplies every size")
    chosen = parser.parse_args()
    if unknown := set(chosen.experiments) - set(MEASURES):
        parser.error(f"no such experiment: {', '.join(sorted(unknown))}")
    if not (chosen.checkout / "src" / "headrace").is_dir():
        parser.error(f"no checkout of Headrace: {chosen.checkout}")
    processes.stay_on_two_cores()
    plan = Plan(chosen.runs, chosen.scale, OWN)
    ratios = compare(chosen.checkout, chosen.experiments or [*MEASURES], plan)
    rows = {name: {"ratio": median(found), "rounds": found} for name, found in ratios.items()}
    print(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
