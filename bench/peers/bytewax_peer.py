"""Bytewax with recovery on; jobs (a) and wt.

Options: ``workers`` (processes: two processes, threads: two threads of one), ``operator`` (map,
flat_map, batch: stateful_map needs a filter behind it, stateful_flat_map gives out only what
counts, stateful_batch is called once for all of a key's records in a batch of the source; of (a)
only), ``batch`` (records the source gives at a time), ``snapshot`` (seconds between snapshots).
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from bench.peers.protocol import Outcome, Task, answer

FLOW = "bench.peers.bytewax_flow:flow"
WORKERS = 2


def free_ports(count: int) -> list[int]:
    """Ports that nothing listens on now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports: list[int] = [s.getsockname()[1] for s in sockets]
    for each in sockets:
        each.close()
    return ports


def commands(task: Task, recovery: Path) -> list[list[str]]:
    """One command line for each process of the cluster."""
    common = [sys.executable, "-m", "bytewax.run", FLOW, "-r", str(recovery)]
    common += ["-s", task.option("snapshot", "10"), "-b", "0"]
    if task.option("workers", "processes") == "threads":
        return [[*common, "-w", str(WORKERS)]]
    addresses = ";".join(f"127.0.0.1:{port}" for port in free_ports(WORKERS))
    return [[*common, "-i", str(i), "-a", addresses] for i in range(WORKERS)]


def run(task: Task) -> Outcome:
    """Run the flow to its end."""
    if task.job not in ("a", "wt"):
        raise SystemExit("this peer runs jobs a and wt only")
    recovery = task.folder / "recovery"
    recovery.mkdir()
    subprocess.run(
        [sys.executable, "-m", "bytewax.recovery", str(recovery), str(WORKERS)], check=True
    )
    parameters = {
        "job": task.job,
        "records": task.records,
        "keys": task.keys,
        "distribution": task.distribution,
        "operator": task.option("operator", "map"),
        "batch": int(task.option("batch", "1000")),
        "folder": str(task.folder),
    }
    variables = {**os.environ, "BENCH_FLOW": json.dumps(parameters), "PYTHONPATH": str(Path.cwd())}
    started = time.perf_counter()
    running = [subprocess.Popen(c, env=variables) for c in commands(task, recovery)]
    codes = [process.wait() for process in running]
    seconds = time.perf_counter() - started
    if any(codes):
        raise SystemExit(f"Bytewax's processes ended with {codes}")
    return Outcome(seconds, task.tally.total())


if __name__ == "__main__":
    answer(run)
