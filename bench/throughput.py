"""Rates: every contender at two sizes, in fresh processes, in turns.

The slope between the sizes is what a record costs; what the line costs at no records is the start.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from bench import expectation, processes, workload
from bench.contenders import CONTENDERS, Case, Contender, size
from bench.environments import UnbuildableError, python_for, versions

Row = dict[str, Any]
NO_SLOPE = "the larger run took no longer than the smaller: sizes too small, or too much noise"


@dataclass(frozen=True)
class Plan:
    """What was asked for on the command line."""

    runs: int
    scale: float
    peers: tuple[str, ...] = ()

    def takes(self, name: str) -> bool:
        """Whether a contender is wanted: by its name or the beginning of it."""
        return not self.peers or any(name == p or name.startswith(f"{p}-") for p in self.peers)


def measure(cases: Sequence[Case], plan: Plan) -> Iterator[dict[str, list[Row]]]:
    """The rows of each case so far, one for each run, after every round: all take turns in it."""
    rows: dict[str, list[Row]] = {case.name: [] for case in cases}
    waiting = _turns(cases, [each for name, each in CONTENDERS.items() if plan.takes(name)])
    for number in range(plan.runs):
        for case, contender in [*waiting]:
            for records in case.sizes[contender.name]:
                row = one(case, contender, size(records, plan.scale, _step(case, contender)))
                row["round"] = number
                rows[case.name].append(row)
                tell(row)
                if "failure" in row:
                    waiting.remove((case, contender))  # it would fail again, and take its time
                    break
        yield rows


def _turns(cases: Sequence[Case], chosen: Sequence[Contender]) -> list[tuple[Case, Contender]]:
    """Who runs when in a round.

    Headrace's (a) and tumbling windows, and the cases that no peer runs, which are there for their
    sake, lie side by side, as a machine is not as fast all day. The rest follows case by case.
    """
    pairs = [(case, each) for case in cases for each in chosen if each.name in case.sizes]
    alone = {case.name for case in cases if all(CONTENDERS[name].own for name in case.sizes)}
    alone |= {"a", "windows"}
    beside = [(c, each) for c, each in pairs if each.own and c.name in alone]
    return beside + [pair for pair in pairs if pair not in beside]


def _step(case: Case, contender: Contender) -> int:
    return int(contender.options.get("batch", case.step))


def slope(
    case: Case, contender: Contender, sizes: Sequence[int], watch_memory: bool = False
) -> Row:
    """The row of a contender's rate by the runs at these sizes."""
    return sloped(contender, (one(case, contender, size, watch_memory) for size in sizes))


def sloped(contender: Contender, runs: Iterable[Row]) -> Row:
    """The row of a contender's rate by runs of two sizes; they end with the first that fails."""
    row: Row = {"contender": contender.name, "versions": versions(contender.environment)}
    row["runs"] = done = []
    for run in runs:
        done.append({**run, "round": 0})
        tell(run)
        if "failure" in run:
            break
    figure = figures(done)[contender.name]
    if figure.rate is None:
        return {**row, "failure": figure.failure}
    return {**row, "values": {"records_per_second": figure.rate}}


def one(case: Case, contender: Contender, records: int, watch_memory: bool = False) -> Row:
    """Run a contender once and check what it gave out."""
    row: Row = {"case": case.name, "contender": contender.name, "records": records}
    arguments = [f"--job={case.job}", f"--records={records}", f"--keys={case.keys}"]
    arguments += [f"--distribution={case.distribution}", f"--scratch={processes.scratch()}"]
    arguments += [f"--option={name}={value}" for name, value in contender.options.items()]
    workload.input_of(case.job, records, case.keys, processes.scratch())  # before the clock starts
    try:
        python = python_for(contender.environment)
        row["versions"] = versions(contender.environment)
    except UnbuildableError as error:
        return {**row, "failure": str(error)}
    module = f"bench.peers.{contender.module}"
    run = processes.run(python, module, arguments, contender.limit_seconds, watch_memory)
    row |= {"command": run.command, "load": run.load_before, "wall_seconds": run.wall_seconds}
    if run.answer is None:
        return {**row, "failure": run.failure}
    row |= {key: run.answer[key] for key in ("seconds", "tally")}
    facts = run.answer.get("facts", {})
    row["facts"] = facts
    if run.peak_mib is not None:
        row["peak_mib"] = run.peak_mib
    wrong = _wrong(case, records, run.answer["tally"], facts)
    return {**row, "failure": wrong} if wrong else row


def _wrong(case: Case, records: int, tally: list[int], facts: dict[str, Any]) -> str | None:
    checked = facts.get("checked_records", records)
    if facts.get("checked") == "final sums":
        wanted = expectation.final_sums(checked, case.keys, case.distribution)
        return None if tuple(tally) == wanted else f"the tally is {tally}, expected {list(wanted)}"
    found = expectation.expected(
        case.job, checked, case.keys, case.distribution, processes.scratch()
    )
    return expectation.difference(case.job, tally, found)


def tell(row: Row) -> None:
    """One line on standard error."""
    said = row.get("failure") or f"{row['seconds']:.2f} s"
    first = said.splitlines()[0]
    print(
        f"{row['case']:<14} {row['contender']:<20} {row['records']:>12,}  {first}", file=sys.stderr
    )


@dataclass(frozen=True)
class Figure:
    """What the runs of one contender come to. Rates in records per second."""

    contender: str
    by_round: Mapping[int, float]
    """The rate of each round, from its two sizes."""
    starts: tuple[float, ...]
    failure: str | None = None
    """Why a round is not among them: the median is then of the others."""
    processor: Mapping[str, float] = field(default_factory=dict)
    """Microseconds of processor time per record in each kind of process, where it was taken."""

    @property
    def rates(self) -> tuple[float, ...]:
        """Ascending."""
        return tuple(sorted(self.by_round.values()))

    @property
    def rate(self) -> float | None:
        """The median rate."""
        return median(self.rates) if self.rates else None

    @property
    def start(self) -> float | None:
        """The median start in seconds: the whole process, from its imports to its end, less what
        its records cost."""
        return median(self.starts) if self.starts else None


def figures(rows: Iterable[Row]) -> dict[str, Figure]:
    """One figure for each contender of a case."""
    by_contender: dict[str, list[Row]] = {}
    for row in rows:
        by_contender.setdefault(row["contender"], []).append(row)
    return {name: _figure(name, own) for name, own in by_contender.items()}


def _figure(name: str, rows: list[Row]) -> Figure:
    failure = next((row["failure"] for row in rows if "failure" in row), None)
    rates: dict[int, float] = {}
    starts: list[float] = []
    used: dict[str, list[float]] = {}
    rounds = sorted({row["round"] for row in rows})
    for number in rounds:
        pair = sorted(
            (r for r in rows if r["round"] == number and "failure" not in r),
            key=lambda row: row["records"],
        )
        if len(pair) < 2 or pair[0]["records"] == pair[1]["records"]:
            continue
        small, large = pair
        more = large["records"] - small["records"]
        cost = (large["seconds"] - small["seconds"]) / more
        if cost <= 0:
            continue
        rates[number] = 1 / cost
        checking = small.get("facts", {}).get("check_seconds", 0)
        starts.append(small["wall_seconds"] - checking - cost * small["records"])
        before, after = (r.get("facts", {}).get("processor_seconds", {}) for r in pair)
        for kind, seconds in after.items():
            used.setdefault(kind, []).append((seconds - before[kind]) / more * 1e6)
    if len(rates) < len(rounds):
        failure = failure or NO_SLOPE
        if rates:
            failure = f"{len(rounds) - len(rates)} of {len(rounds)} rounds lost: {failure}"
    processor = {kind: median(values) for kind, values in used.items()}
    return Figure(name, rates, tuple(sorted(starts)), failure, processor)
