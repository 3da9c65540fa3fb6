"""``jobs.py FOLDER DAY SERVERS TOPIC OUTPUT``: the trades job, then windows from Kafka to Kafka.

With ``SESSION`` in the environment the program makes its own session there, as a notebook does.
``RECORDS`` is the number of records in a micro-batch of the trades job.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import windows

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.demo.trades import job


def environment(folder: Path, records: int) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(
            {
                "execution.checkpointing.dir": str(folder / "checkpoint"),
                "headrace.source.max-records-per-batch": str(records),
            }
        )
    )


def main() -> None:
    folder, day, servers, topic, output = Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:6]
    if "SESSION" in os.environ:
        from pyspark.sql import SparkSession

        SparkSession.builder.master(os.environ["SESSION"]).getOrCreate()
    env = environment(folder, int(os.environ.get("RECORDS", "400")))
    job.write(*job.build(env, day), folder)
    env.execute("trades")
    if servers:
        env = environment(folder, 150)
        windows.build(env, servers, topic, output)
        env.execute("windows")


if __name__ == "__main__":
    main()
