"""``make proof-faults``: each process of a job on Spark struck at each step of a micro-batch.

A job (``fault_job``) is struck, started again as a supervisor would where it has ended, and run to
its end; then what it wrote equals what plain Python computes. ``--seed`` plans the same runs again,
``--only STEP[/PROCESS[/FAULT]]`` takes a part of them (``*/worker``: of any step). With
``--together`` one job is struck at all steps in turn, by one fault of one process. ``--json FILE``
adds the runs to a file, and ``--docs`` writes the tables of docs/guarantees.md from ``RUNS``.
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headrace.dev import kafka
from tests.cluster.standalone import Cluster
from tests.faults.processes import ROOT
from tests.proof.fault_plan import (
    FAULTS,
    MOMENTS,
    OTHERS,
    PROCESSES,
    SHORT,
    STEPS,
    Outcome,
    Strike,
    grouped,
    planned,
)
from tests.proof.fault_run import run
from tests.servers import Server

RUNS = Path(__file__).with_name("fault_table.json")
DOCS = ROOT / "docs" / "guarantees.md"
BEGIN, END = "<!-- fault table -->", "<!-- end of the fault table -->"
_BROKER = "transaction.abort.timed.out.transaction.cleanup.interval.ms=500"


@contextmanager
def broker(wanted: bool) -> Iterator[str | None]:
    """A broker for the jobs that need one."""
    if not wanted:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="headrace-proof-") as path:
        server = Server(kafka.kafka(Path(path), 0, memory="768m", more=_BROKER))
        server.start()
        try:
            yield server.url
        finally:
            server.kill()


@contextmanager
def cluster_for(strikes: Sequence[Strike]) -> Iterator[Cluster | None]:
    """Two workers on two hosts: Spark starts no twin of a task on the task's own host."""
    if strikes[0].step != "speculative twin":
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="headrace-cluster-") as path:
        cluster = Cluster(Path(path))
        try:
            cluster.start(hosts=("127.0.0.1", "127.0.0.2"))
            yield cluster
        finally:
            cluster.stop()


def run_all(jobs: Sequence[Sequence[Strike]], until: float) -> Iterator[Outcome]:
    """Run jobs one after another until the time is over; what came of each strike."""
    with broker(any(job[0].form == "kafka" for job in jobs)) as servers:
        for job in jobs:
            if time.monotonic() > until:
                break
            with cluster_for(job) as cluster:
                yield from run(job, servers if job[0].form == "kafka" else None, cluster)


def made(command: str, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Runs as they are in a file."""
    day = datetime.now(UTC).date().isoformat()
    return {"day": day, "command": command, "outcomes": [asdict(each) for each in outcomes]}


def tables(runs: Sequence[Mapping[str, Any]]) -> str:
    """The counts of runs in Markdown."""
    found = [Outcome(**each) for lot in runs for each in lot["outcomes"]]
    exact: Counter[tuple[str, str, str]] = Counter()
    on_kafka: Counter[tuple[str, str, str]] = Counter()
    other: Counter[tuple[str, str, str]] = Counter()
    for each in found:
        cell = each.step, each.process, each.fault
        (other if each.difference else exact)[cell] += 1
        on_kafka[cell] += not each.difference and each.form == "kafka"

    moments = {
        step: Counter(each.moment for each in found if each.step == step and not each.difference)
        for step in STEPS
    }
    damaged = Counter(each.what.rpartition(": ")[2] for each in found if each.process == "file")

    def text(cell: tuple[str, str, str]) -> str:
        if not exact[cell] and not other[cell]:
            return "-"
        differ = f", {other[cell]} differ" if other[cell] else ""
        return f"{exact[cell]} ({on_kafka[cell]}){differ}"

    heads = [(process, fault) for process in PROCESSES for fault in FAULTS]
    lines = [
        "| step | " + " | ".join(f"{process} {fault}" for process, fault in heads) + " |",
        "|---|" + "---|" * len(heads),
        *(
            f"| {step} | " + " | ".join(text((step, *head)) for head in heads) + " |"
            for step in STEPS
        ),
        "",
        "| what else happened | runs |",
        "|---|---|",
        *(
            f"| {step}: {process} {fault} | {text((step, process, fault))} |"
            for step, process, fault in OTHERS
        ),
        "",
        "The moments of the steps that were struck:",
        "",
        *(
            f"- {step}: " + "; ".join(f"{MOMENTS[name]} ({count})" for name, count in each.items())
            for step, each in moments.items()
        ),
        "",
        f"A start with a damaged or missing file was refused {damaged['refused']} times; in"
        f" {damaged['not needed']} runs the file was not needed.",
        "",
        f"{exact.total()} strikes had exact results, {other.total()} had not:",
        "",
        *(f"- {lot['day']}, {len(lot['outcomes'])} of them: `{lot['command']}`" for lot in runs),
    ]
    return "\n".join(lines)


def in_docs(text: str) -> str:
    """The page with the tables of ``RUNS``."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    counted = tables(json.loads(RUNS.read_text()))
    return f"{before}{BEGIN}\n\n{counted}\n\n{END}{after}"


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    asked.add_argument("--seeds", type=int, default=3, help="how often each cell")
    asked.add_argument("--first", type=int, default=0, help="1 leaves out the first time of each")
    asked.add_argument("--only", metavar="STEP[/PROCESS[/FAULT]]")
    asked.add_argument("--form", choices=["files", "kafka"])
    asked.add_argument("--together", action="store_true", help="one job for all steps")
    asked.add_argument("--short", action="store_true", help="one job, one strike at each step")
    asked.add_argument("--seconds", type=float, default=6 * 3600.0, help="begin no job after it")
    asked.add_argument("--json", type=Path, help="add the runs to this file")
    asked.add_argument("--docs", action="store_true", help="write the tables of the docs, no more")
    given = asked.parse_args()
    if given.docs:
        DOCS.write_text(in_docs(DOCS.read_text()))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started is ended
    print(f"seed {given.seed}", flush=True)
    strikes = planned(given.seed, given.seeds, given.only, given.first)
    if given.form:
        strikes = [strike for strike in strikes if strike.form == given.form]
    jobs = [SHORT] if given.short else grouped(strikes, given.together)
    arguments = [shlex.quote(each) for each in sys.argv[1:]]
    if given.json:  # where they are kept does not matter
        del arguments[(at := arguments.index("--json")) : at + 2]
    command = " ".join(["python -m tests.proof.fault_table", *arguments])
    if "--seed" not in arguments and not given.short:
        command += f" --seed {given.seed}"
    before = json.loads(given.json.read_text()) if given.json and given.json.exists() else []
    outcomes: list[Outcome] = []
    for outcome in run_all(jobs, time.monotonic() + given.seconds):
        outcomes.append(outcome)
        print(outcome.line, flush=True)
        if given.json:
            given.json.write_text(json.dumps([*before, made(command, outcomes)], indent=1) + "\n")
    print(tables([made(command, outcomes)]))
    return 0 if outcomes and not any(each.difference for each in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
