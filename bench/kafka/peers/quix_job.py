"""Quix Streams: two processes of one consumer group. Option ``guarantee``."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from quixstreams import Application, State

from bench import workload
from bench.kafka.inputs import STATELESS, summary
from bench.peers.protocol import options

PROCESSES = 2
_BUFFERED = {"compression.type": "lz4", "queue.buffering.max.messages": 1_000_000}


def counted(record: dict[str, Any], state: State) -> dict[str, Any] | None:
    """The keyed count of job (a)."""
    key = record["key"]
    count, total = state.get("sums", (0, 0))
    count, total = count + 1, total + record["value"]
    state.set("sums", (count, total))
    if (key + count) % workload.OUTPUT_EVERY:
        return None
    return {"key": key, "count": count, "total": total}


def main() -> None:
    job_options = options()
    number = int(job_options.get("process", "0"))
    if number == 0:
        for other in range(1, PROCESSES):
            command = [sys.executable, "-m", "bench.kafka.peers.quix_job", *sys.argv[1:]]
            subprocess.Popen([*command, f"process={other}"])
    exactly = job_options["guarantee"] == "EXACTLY_ONCE"
    app = Application(
        job_options["brokers"],
        consumer_group=job_options["output"],
        auto_offset_reset="earliest",
        state_dir=f"{job_options['folder']}/state-{number}",
        producer_extra_config=_BUFFERED,
        processing_guarantee="exactly-once" if exactly else "at-least-once",
        commit_interval=1.0,
        loglevel="WARNING",
    )
    records = app.dataframe(app.topic(job_options["topic"]))
    if job_options["job"] == STATELESS:
        found = records.filter(workload.wanted).apply(summary)
    else:
        found = records.apply(counted, stateful=True).filter(lambda output: output is not None)
    found.to_topic(app.topic(job_options["output"]))
    app.run()


if __name__ == "__main__":
    main()
