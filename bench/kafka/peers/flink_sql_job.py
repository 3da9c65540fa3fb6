"""Flink's SQL. Option ``checkpoint``: how often."""

from __future__ import annotations

from pathlib import Path

from bench.contenders import FEW_KEYS
from bench.kafka.peers import sql
from bench.peers import flink
from bench.peers.protocol import Task, options


def main() -> None:
    job_options = options()
    flink.use_this_python()
    folder = Path(job_options["folder"])
    settings = flink.settings(Task("a", 0, FEW_KEYS, "uniform", job_options, folder, folder))
    settings["pipeline.jars"] = ";".join(f"file://{jar}" for jar in job_options["jars"].split(","))
    settings["execution.checkpointing.interval"] = job_options.get("checkpoint", "10 s")
    sql.run("pyflink", job_options, settings)


if __name__ == "__main__":
    main()
