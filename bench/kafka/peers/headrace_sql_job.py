"""Headrace's SQL. Options: any configuration key as ``conf:<key>``."""

from __future__ import annotations

from bench.kafka.peers import pipeline, sql
from bench.peers.protocol import options


def main() -> None:
    job_options = options()
    settings = {
        "parallelism.default": "2",
        "execution.checkpointing.dir": f"{job_options['folder']}/checkpoints",
        **pipeline.configured(job_options),
    }
    sql.run("headrace", job_options, settings)


if __name__ == "__main__":
    main()
