"""Ten million keys: the rate once they are all there, and the memory of the Python workers."""

from __future__ import annotations

from bench import processes
from bench.contenders import MILLION
from bench.environments import python_for
from bench.expectation import difference, expected
from bench.throughput import NO_SLOPE, Plan, Row, tell

KEYS = 10 * MILLION
SIZES = (10 * MILLION, 20 * MILLION)
LIMIT_SECONDS = 1200


def measure(plan: Plan) -> list[Row]:
    """One row for each round. The rate is the slope, so it is that of the second ten million."""
    rows = []
    for _ in range(plan.runs):
        row = _round(plan.scale)
        tell(row)
        rows.append(row)
    return rows


def _round(scale: float) -> Row:
    keys = round(KEYS * scale)
    row: Row = {"case": "memory", "contender": "headrace", "point": f"keys {keys:,}"}
    seconds = []
    for records in (round(size * scale) for size in SIZES):
        row["records"] = records
        arguments = ["--job=a", f"--records={records}", f"--keys={keys}"]
        arguments += [f"--scratch={processes.scratch()}"]
        run = processes.run(
            python_for("headrace"),
            "bench.peers.headrace_peer",
            arguments,
            LIMIT_SECONDS,
            watch_memory=True,
        )
        row["command"] = run.command
        if run.answer is None:
            return {**row, "failure": run.failure}
        wanted = expected("a", records, keys, "uniform", processes.scratch())
        wrong = difference("a", run.answer["tally"], wanted)
        if wrong:
            return {**row, "failure": wrong}
        seconds.append(run.answer["seconds"])
    if seconds[1] <= seconds[0]:
        return {**row, "failure": NO_SLOPE}
    peaks = run.peak_mib or {}
    rate = (SIZES[1] - SIZES[0]) * scale / (seconds[1] - seconds[0])
    values = {f"{kind}_mib": size for kind, size in peaks.items()}
    return {**row, "seconds": seconds[1], "values": {"records_per_second": rate, **values}}
