"""The time to the first output: of a cold start, on a warm session, of the local runner."""

from __future__ import annotations

from bench.measure.probes import Probe, all_of
from bench.throughput import Plan, Row

PROBES = (
    Probe("headrace-cold", "start_probe", options={"mode": "cold"}),
    Probe("headrace-warm", "start_probe", options={"mode": "warm"}),
    Probe("headrace-local", "start_probe", options={"mode": "local"}),
)


def measure(plan: Plan) -> list[Row]:
    """One row for each way to start."""
    return all_of("start", PROBES, plan)
