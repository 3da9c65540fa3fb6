"""Latency from record to output at 2,000 records/s, one keyed stage.

A record's time begins when it is due (Headrace, whose source makes several at once) or made (Flink,
whose source makes them one by one), and ends where a sink gets it: in a worker, or in the JVM's
print. Flink's source keeps an even rate, but stands still for a tenth of a second where a bundle
ends in process mode, and makes up for it then: that wait is not in PyFlink's figures.
"""

from __future__ import annotations

from bench.measure.probes import Probe, all_of
from bench.throughput import Plan, Row

RATE = 2_000
SECONDS, WARM_UP_SECONDS = 50, 25
# PyFlink keeps 1,000 keys of state in Python by default: with more it would measure its cache.
KEYS = 500
QUICK = {"bundle": "1000", "bundle_ms": "100", "buffer_ms": "5"}
"""Short bundles with which process mode keeps up on two cores; with 20 ms it falls behind."""

PROBES = (
    Probe("headrace", "latency_headrace"),
    Probe("pyflink-default", "latency_flink", "pyflink"),
    Probe("pyflink-quick", "latency_flink", "pyflink", QUICK),
    Probe("pyflink-thread", "latency_flink", "pyflink", {"mode": "thread"}),
)


def measure(plan: Plan) -> list[Row]:
    """One row for each contender."""
    return all_of("latency", PROBES, plan)


def summary(latencies_ms: list[float]) -> dict[str, float]:
    """What is told of the latencies of the records behind the warm-up."""
    shares = {"median_ms": 0.5, "p99_ms": 0.99, "max_ms": 1}
    found = {name: percentile(latencies_ms, share) for name, share in shares.items()}
    return {**found, "records": len(latencies_ms)}


def percentile(latencies_ms: list[float], share: float) -> float:
    """The latency that this share of the records does not exceed."""
    ordered = sorted(latencies_ms)
    return round(ordered[min(int(share * len(ordered)), len(ordered) - 1)], 2)
