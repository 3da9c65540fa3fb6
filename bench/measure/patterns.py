"""What 100,000 open partial matches take in the state: on the heap, and stored in pages."""

from __future__ import annotations

from dataclasses import replace

from bench.measure.operators import HEAP, PAGES
from bench.measure.probes import Probe, all_of
from bench.throughput import Plan, Row

KEYS = 100_000
"""Each has one partial match."""

PROBES = tuple(
    Probe(f"headrace-{backend}", "patterns_probe", options={"backend": backend})
    for backend in (HEAP, PAGES)
)


def measure(plan: Plan) -> list[Row]:
    """One row for each backend, with the memory or the bytes of one partial match and of all."""
    keys = {"keys": str(round(KEYS * plan.scale))}
    probes = tuple(replace(probe, options={**probe.options, **keys}) for probe in PROBES)
    return [
        {**row, "point": f"keys {int(keys['keys']):,}"}
        for row in all_of("patterns-memory", probes, plan)
    ]
