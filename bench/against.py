"""This checkout against another, in turns: ``python -m bench.against CHECKOUT [EXPERIMENT ...]``.

Each round runs every experiment with both engines, one after the other, and the next round in the
other order, so that a machine that gets slower is slow for both. For each figure it prints this
checkout's rate by the other's, the mean over the rounds and its interval of 95 %: above 1, this
one is faster. ``cpu`` is the rate by processor time of all processes together, which a busy
machine changes less.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from math import exp, inf, log, sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from bench import processes
from bench.contenders import CASES, CONTENDERS, size
from bench.environments import ROOT
from bench.kafka import inputs, rates
from bench.measure import memory, start, trickle
from bench.throughput import Plan, figures, one

OWN = ("headrace",)
RATES = (
    *("a", "b", "c", "d", "a-million", "join"),
    *("windows", "windows-sliding", "windows-sessions", "windows-process", "windows-columns"),
)
_STUDENT = (inf, inf, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""The quantile of Student's distribution that leaves 2.5 % above it, by the number of values."""

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


def _kafka_count(plan: Plan) -> Mapping[str, float]:
    (row,) = rates.measure(inputs.COUNT, plan)
    return {"kafka count": _value(row, "records_per_second")}


def _megabytes(plan: Plan) -> Mapping[str, float]:
    """The rate, and how much of a megabyte one is of a worker's peak: here, too, more is better."""
    (row,) = memory.measure(plan)
    return {
        "memory, rate": _value(row, "records_per_second"),
        "memory": 1 / _value(row, "worker_mib"),
    }


def _value(row: Mapping[str, Any], name: str) -> float:
    if "failure" in row:
        raise UnmeasuredError(f"{row['contender']}: {row['failure']}")
    found: float = row["values"][name]
    return found


MEASURES: dict[str, Measure] = {
    **{name: _rate(name) for name in RATES},
    "trickle": _small_batches,
    "start": _first_output,
    "kafka-count": _kafka_count,
    "memory": _megabytes,
}


def interval(ratios: Sequence[float]) -> tuple[float, float, float]:
    """The geometric mean of ratios, between the ends of its interval of 95 %."""
    logs = [*map(log, ratios)]
    if len(logs) < 2:
        return 0.0, exp(logs[0]), inf
    quantile = _STUDENT[min(len(logs), len(_STUDENT) - 1)]
    apart = quantile * stdev(logs) / sqrt(len(logs))
    return exp(mean(logs) - apart), exp(mean(logs)), exp(mean(logs) + apart)


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
    for name, found in ratios.items():
        low, middle, high = interval(found)
        print(
            json.dumps({"figure": name, "low": low, "ratio": middle, "high": high, "rounds": found})
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
