"""The time from the start of a process to the first row of a statement, over the local runner."""

from __future__ import annotations

from bench.measure.probes import Probe, all_of
from bench.throughput import Plan, Row

PROBES = (Probe("headrace-sql-local", "sql_start_probe"),)


def measure(plan: Plan) -> list[Row]:
    """One row."""
    return all_of("sql-start", PROBES, plan)
