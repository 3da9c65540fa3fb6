"""``python -m tests.proof.kafka_on_spark``: kill -9 of drivers, JVMs and Python workers, to Kafka.

One job, killed at random times as long as it runs; then each running sum is there once, in order
per key, read committed. ``--seed`` chooses whom and when.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

from headrace.dev import kafka
from tests.connectors.killed_job import FIRST, KEYS
from tests.connectors.test_sqlite_log import make_log
from tests.connectors.topic import content, new_topic
from tests.faults.processes import jvms, kill, log_of, python_workers, start
from tests.servers import Server

JOB = "tests.proof.spark_job"
RECORDS = 600
TO_ITS_END_S = 300.0


def killed(job: subprocess.Popen[bytes], whom: str, chance: random.Random) -> bool:
    """Whether there was such a process of the job to kill."""
    if whom == "driver":
        return kill(job.pid)
    if whom == "JVM":
        found = [jvm.pid for jvm in jvms(job.pid)]
    else:
        found = [worker.pid for worker in python_workers(job.pid)]
    return bool(found) and kill(chance.choice(found))


def killed_until_its_end(
    arguments: list[str], kills: list[str], chance: random.Random, until: float
) -> tuple[Counter[str], int]:
    """Run a job; kill it in turn; give who was killed, and how often it was started."""
    done: Counter[str] = Counter()
    starts, waiting = 1, [*kills]
    checkpoint = Path(arguments[0], "checkpoint")
    job = start(JOB, *arguments)
    seen = -1
    try:
        while job.poll() != 0:
            if time.monotonic() > until:
                waiting.clear()
            if time.monotonic() > until + TO_ITS_END_S:
                raise TimeoutError(log_of(Path(arguments[0])))
            if job.poll() is not None:
                job, starts = start(JOB, *arguments), starts + 1
            time.sleep(chance.uniform(0.1, 0.6))
            names = [path.name for path in checkpoint.glob("*/spark/commits/*")]
            now = max((int(name) for name in names if name.isdigit()), default=-1)
            if waiting and now > seen and killed(job, waiting[0], chance):
                done[waiting.pop(0)] += 1
                seen = now  # the next one when it has made a micro-batch
                if done.total() and job.poll() is None and kills[done.total() - 1] == "driver":
                    job.wait()
    finally:
        if job.poll() is None:
            job.kill()
            job.wait()
    return done, starts


def fault_of(servers: str, topic: str) -> str:
    """What is wrong with the running sums; nothing, if nothing is."""
    written = [json.loads(message.value()) for message in content(servers, topic)]
    for key in range(KEYS):
        totals = [0, *(total for each, total in written if each == key)]
        added = [after - before for before, after in pairwise(totals)]
        if sorted(added) != [n for n in range(FIRST, RECORDS + 1) if n % KEYS == key]:
            return f"the sums of key {key}: {totals}"
    return ""


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    asked.add_argument("--workers", type=int, default=8)
    asked.add_argument("--drivers", type=int, default=2)
    asked.add_argument("--jvms", type=int, default=2)
    asked.add_argument("--seconds", type=float, default=1200.0, help="for so long it is killed")
    given = asked.parse_args()
    print(f"seed {given.seed}", flush=True)
    chance, began = random.Random(given.seed), time.monotonic()
    kills = ["worker"] * given.workers + ["driver"] * given.drivers + ["JVM"] * given.jvms
    chance.shuffle(kills)
    with tempfile.TemporaryDirectory(prefix="headrace-proof-") as path:
        folder = Path(path)
        (folder / "job").mkdir()
        make_log(folder / "job" / "given.db", range(1, RECORDS + 1))
        server = Server(kafka.kafka(folder / "kafka", 0, memory="768m"))
        server.start()
        try:
            topic = new_topic(server.url, 3)
            arguments = [str(folder / "job"), server.url, topic]
            done, starts = killed_until_its_end(arguments, kills, chance, began + given.seconds)
            fault = fault_of(server.url, topic)
        finally:
            server.kill()
    seconds = time.monotonic() - began
    print(f"killed: {dict(done)} of {len(kills)}; started {starts} times; {seconds:.0f} s")
    print(fault or "each record once, in order per key")
    return 1 if fault or done.total() < len(kills) else 0


if __name__ == "__main__":
    sys.exit(main())
