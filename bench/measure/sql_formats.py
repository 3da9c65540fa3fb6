"""How many rows of JSON and CSV tables decode and encode on one core."""

from __future__ import annotations

from bench.measure.probes import Probe, all_of
from bench.throughput import Plan, Row

PROBES = (Probe("headrace-sql-local", "table_formats"),)


def measure(plan: Plan) -> list[Row]:
    """One row."""
    return all_of("sql-formats", PROBES, plan)
