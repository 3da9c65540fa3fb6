"""Ten million keys: the rate once they are all there, and the memory of the processes."""

from __future__ import annotations

from bench.contenders import MAX_KEYS, Case, Contender
from bench.throughput import Plan, Row, slope

SIZES = (MAX_KEYS, 2 * MAX_KEYS)
EACH = "each"
"""After the first ten million records every key is there."""

CONTENDER = Contender(
    "headrace", "headrace_peer", options={"runner": "streaming"}, limit_seconds=1200
)


def measure(plan: Plan) -> list[Row]:
    """One row. The rate is the slope, so it is that of the second ten million."""
    keys = round(MAX_KEYS * plan.scale)
    sizes = [round(size * plan.scale) for size in SIZES]
    row = slope(Case("memory", "a", keys, EACH), CONTENDER, sizes, watch_memory=True)
    if "values" in row:
        for kind, peak in row["runs"][-1]["peak_mib"].items():
            row["values"][f"{kind}_mib"] = peak
    return [{**row, "point": f"keys {keys:,}"}]
