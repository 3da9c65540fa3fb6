"""Input that doubles, then halves: how large micro-batches are then, and how old their records."""

from __future__ import annotations

from bench.measure.probes import Probe, all_of
from bench.throughput import Plan, Row

RATES = (60_000, 120_000, 60_000)
"""Records per second, each for ``PHASE_SECONDS``."""

PHASE_SECONDS = 30
SETTLED_SECONDS = 10
"""What is left out at the beginning of a phase."""

KEYS = 10_000
PROBES = (Probe("headrace", "doubling_headrace"),)


def measure(plan: Plan) -> list[Row]:
    """Three rows, one per phase."""
    rows = []
    for row in all_of("doubling", PROBES, plan):
        if "failure" in row:
            rows.append(row)
            continue
        phases = row.pop("values")["phases"]
        rows += [{**row, "point": point, "values": values} for point, values in phases.items()]
    return rows


def due(elapsed_ms: float) -> int:
    """The records that are due by a time since the start."""
    records = 0.0
    for rate in RATES:
        spent = min(max(elapsed_ms, 0), PHASE_SECONDS * 1000)
        records += rate * spent / 1000
        elapsed_ms -= spent
    return int(records)


def due_ms(index: int) -> float:
    """When a record is due, in ms since the start: what ``due`` is the other way round."""
    elapsed, left = 0.0, float(index)
    for rate in RATES:
        within = min(left, rate * PHASE_SECONDS)
        elapsed += 1000 * within / rate
        left -= within
    return elapsed
