"""What it costs to fire the windows of 100,000 keys at once, to what it cost to fill them."""

from __future__ import annotations

from dataclasses import replace

from bench.measure.probes import Probe, all_of
from bench.throughput import Plan, Row

KEYS, RECORDS_PER_KEY = 100_000, 10

PROBES = (
    Probe("headrace", "firing_probe", options={"runner": "streaming"}, watch_memory=True),
    Probe("headrace-local", "firing_probe", options={"runner": "local"}, watch_memory=True),
)


def measure(plan: Plan) -> list[Row]:
    """One row for each runner, with the seconds to fill and to fire and the peaks of memory."""
    keys = {"keys": str(round(KEYS * plan.scale))}
    probes = tuple(replace(probe, options={**probe.options, **keys}) for probe in PROBES)
    return [
        {**row, "point": f"keys {int(keys['keys']):,}"} for row in all_of("firing", probes, plan)
    ]
