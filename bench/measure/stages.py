"""Where the time of a small micro-batch goes, phase by phase: Headrace beside bare queries.

Each runs micro-batches of 100 records, with Spark's event log on. A phase's time is the median
over the micro-batches of a run behind a warm-up. Spark tells whole milliseconds.
"""

from __future__ import annotations

from dataclasses import replace

from bench.contenders import FEW_KEYS, Case, Contender
from bench.measure import trickle
from bench.throughput import Plan, Row, one, tell

BATCHES = 75

_CASE = Case("stages", "a", FEW_KEYS)


def _with_events(contender: Contender, name: str) -> Contender:
    return replace(contender, name=name, options={**contender.options, "events": "1"})


CONTENDERS = (
    _with_events(trickle.headrace(1), "headrace-one-partition"),
    *(
        _with_events(each, each.name)
        for each in trickle.CONTENDERS
        if each.name in ("headrace", "spark-shape-light", "spark-state-light")
    ),
)


def measure(plan: Plan) -> list[Row]:
    """One row for each contender: the ms of each phase."""
    rows: list[Row] = []
    for contender in CONTENDERS:
        if plan.takes(contender.name):
            row = one(_CASE, contender, round(BATCHES * plan.scale) * trickle.RECORDS)
            if "failure" not in row:
                row["values"] = row["facts"].pop("phases")
            rows.append(row)
            tell(row)
    return rows
