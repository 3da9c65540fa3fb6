"""Running a probe: a small program of ``bench.measure`` that prints its values as JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from bench import processes
from bench.contenders import Contender
from bench.environments import OWN, UnbuildableError, python_for, versions
from bench.throughput import Plan, Row


@dataclass(frozen=True)
class Probe(Contender):
    """A contender of a measure; its module is one of ``bench.measure``."""

    limit_seconds: float = 180
    watch_memory: bool = False
    """Whether its values hold the highest resident memory of each kind of process as well."""


def all_of(case: str, probes: tuple[Probe, ...], plan: Plan) -> list[Row]:
    """One row for each probe that is wanted."""
    rows = []
    for probe in probes:
        if plan.takes(probe.name):
            row = _one(case, probe)
            said = row.get("failure") or json.dumps(row["values"])
            print(f"{case:<14} {probe.name:<20} {said.splitlines()[0]}", file=sys.stderr)
            rows.append(row)
    return rows


def _one(case: str, probe: Probe) -> Row:
    row: Row = {"case": case, "contender": probe.name}
    try:
        python = python_for(probe.environment)
        row["versions"] = versions(probe.environment)
    except UnbuildableError as error:
        return {**row, "failure": str(error)}
    arguments = [f"{name}={value}" for name, value in probe.options.items()]
    arguments.append(f"since={time.time()}")
    module = f"bench.measure.{probe.module}"
    run = processes.run(python, module, arguments, probe.limit_seconds, probe.watch_memory)
    row |= {"command": run.command, "load": run.load_before, "wall_seconds": run.wall_seconds}
    if run.answer is None:
        return {**row, "failure": run.failure}
    peaks = {f"{kind}_mib": peak for kind, peak in (run.peak_mib or {}).items()}
    return {**row, "values": {**run.answer, **peaks}}


def several(
    case: str, module: str, arguments: Sequence[str], limit_seconds: float, environment: str = OWN
) -> list[Row]:
    """The rows that one process of ``bench.measure`` gives for several contenders: the last line
    that it prints has them as ``rows``."""
    row: Row = {"case": case, "contender": "headrace"}
    try:
        python = python_for(environment)
        found = versions(environment)
    except UnbuildableError as error:
        return [{**row, "failure": str(error)}]
    run = processes.run(python, f"bench.measure.{module}", arguments, limit_seconds)
    row |= {"versions": found, "command": run.command, "load": run.load_before}
    if run.answer is None:
        rows = [{**row, "failure": run.failure}]
    else:
        rows = [{**row, **each} for each in run.answer["rows"]]
    for each in rows:
        said = each.get("failure") or f"{each['point']}: {json.dumps(each['values'])}"
        print(f"{case:<14} {each['contender']:<20} {said.splitlines()[0]}", file=sys.stderr)
    return rows
