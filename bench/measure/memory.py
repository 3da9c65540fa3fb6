"""Ten million keys: the rate once they are all there, and the memory of the processes."""

from __future__ import annotations

from bench import processes
from bench.contenders import MILLION
from bench.environments import OWN, python_for, versions
from bench.expectation import difference, expected
from bench.throughput import NO_SLOPE, Plan, Row, tell

KEYS = 10 * MILLION
SIZES = (10 * MILLION, 20 * MILLION)
DISTRIBUTION = "each"
"""After the first ten million records every key is there."""

LIMIT_SECONDS = 1200


def measure(plan: Plan) -> list[Row]:
    """One row. The rate is the slope, so it is that of the second ten million."""
    row = _row(plan.scale)
    tell(row)
    return [row]


def _row(scale: float) -> Row:
    keys = round(KEYS * scale)
    row: Row = {"case": "memory", "contender": "headrace", "point": f"keys {keys:,}", "runs": []}
    row["versions"] = versions(OWN)
    for records in (round(size * scale) for size in SIZES):
        run = _run(records, keys)
        row |= {"records": records, "command": run.command}
        if run.answer is None:
            return {**row, "failure": run.failure}
        told = {key: run.answer.get(key) for key in ("seconds", "tally", "facts")}
        row["runs"].append({"records": records, "wall_seconds": run.wall_seconds, **told})
        wanted = expected("a", records, keys, DISTRIBUTION, processes.scratch())
        wrong = difference("a", run.answer["tally"], wanted)
        if wrong:
            return {**row, "failure": wrong}
    small, large = row["runs"]
    seconds = large["seconds"] - small["seconds"]
    if seconds <= 0:
        return {**row, "failure": NO_SLOPE}
    rate = (large["records"] - small["records"]) / seconds
    values = {f"{kind}_mib": peak for kind, peak in (run.peak_mib or {}).items()}
    values = {"records_per_second": rate, **values}
    return {**row, "seconds": large["seconds"], "values": values}


def _run(records: int, keys: int) -> processes.Run:
    arguments = ["--job=a", f"--records={records}", f"--keys={keys}"]
    arguments += [f"--distribution={DISTRIBUTION}", f"--scratch={processes.scratch()}"]
    module = "bench.peers.headrace_peer"
    return processes.run(python_for(OWN), module, arguments, LIMIT_SECONDS, watch_memory=True)
