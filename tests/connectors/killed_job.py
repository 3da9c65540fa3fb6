"""``python -m tests.connectors.killed_job FOLDER``: sums from a SQLite log into another, on Spark.

In micro-batch 2 Spark's JVM is killed once, when a task has committed to the sink and Spark does
not know of it.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from headrace.common import Configuration, WatermarkStrategy
from headrace.connector import SinkWriter, WriterContext
from headrace.datastream import StreamExecutionEnvironment
from tests.connectors.sqlite_log import SqliteLogSink, SqliteLogSource, SqliteLogWriter
from tests.faults.processes import descendants, kill

KEYS = 5
FIRST = 11
BATCH = 2


def main() -> None:
    folder = Path(sys.argv[1])
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(
            {
                "parallelism.default": "2",
                "headrace.source.max-records-per-batch": "60",
                "execution.checkpointing.dir": str(folder / "checkpoint"),
                "headrace.spark.conf.spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
            }
        )
    )
    source = SqliteLogSource(str(folder / "given.db"), FIRST)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "log")
    sums = numbers.map(lambda n: [n % KEYS, n]).key_by(lambda pair: pair[0])
    summed = sums.reduce(lambda one, other: [one[0], one[1] + other[1]])
    summed.sink_to(KillingSink(str(folder / "taken.db"), str(folder / "killed"), os.getpid()))
    env.execute("sums")


@dataclass(frozen=True)
class KillingSink(SqliteLogSink):
    flag: str = ""
    driver: int = 0

    def writer(self, context: WriterContext) -> SinkWriter:
        inner = super().writer(context)
        assert isinstance(inner, SqliteLogWriter)
        return KillingWriter(inner.context, inner.client, flag=self.flag, driver=self.driver)


@dataclass
class KillingWriter(SqliteLogWriter):
    flag: str = ""
    driver: int = 0

    def prepare_commit(self) -> None:
        super().prepare_commit()
        flag = Path(self.flag)
        if self.context.batch_id == BATCH and not flag.exists():
            flag.touch()
            for process in descendants(self.driver):
                if "org.apache.spark.deploy.SparkSubmit" in process.command:
                    kill(process.pid)


if __name__ == "__main__":
    main()
