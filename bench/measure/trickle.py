"""What a micro-batch of 100 records costs: Headrace beside bare transformWithState queries.

Each runs few and many micro-batches back to back; the slope is the cost of one. ``spark-shape`` has
a source and a sink in Python as Headrace has; ``spark-state`` reads Spark's own source in the JVM
and writes to its memory sink, so it has two Python parts fewer.
"""

from __future__ import annotations

from bench.contenders import FEW_KEYS, Case, Contender
from bench.throughput import NO_SLOPE, Plan, Row, one, tell

RECORDS = 100
BATCHES = (20, 60)


def headrace(partitions: int = 2) -> Contender:
    """Headrace with micro-batches of so many records."""
    options = {
        "runner": "streaming",
        "conf:headrace.source.max-records-per-batch": str(RECORDS),
        "conf:parallelism.default": str(partitions),
    }
    return Contender("headrace", "headrace_peer", options=options)


CONTENDERS = (
    headrace(),
    Contender("spark-shape", "spark_shape", options={"batch": str(RECORDS)}),
    Contender("spark-state", "spark_state", options={"batch": str(RECORDS)}),
)
_CASE = Case("trickle", "a", FEW_KEYS)


def measure(plan: Plan) -> list[Row]:
    """One row for each round and contender."""
    rows: list[Row] = []
    for number in range(plan.runs):
        for contender in CONTENDERS:
            if plan.takes(contender.name):
                rows.append({"round": number, **cost(contender, plan.scale)})
                tell(rows[-1])
    return rows


def cost(contender: Contender, scale: float) -> Row:
    """The row of a round: the cost of a micro-batch in ms."""
    seconds = []
    few, many = (max(round(batches * scale), 2) for batches in BATCHES)
    for batches in (few, many):
        row = one(_CASE, contender, batches * RECORDS)
        if "failure" in row:
            return row
        seconds.append(row["seconds"])
    if seconds[1] <= seconds[0]:
        return {**row, "failure": NO_SLOPE}
    cost_ms = 1000 * (seconds[1] - seconds[0]) / (many - few)
    return {**row, "values": {"ms_per_batch": cost_ms}}
