"""``python -m tests.connectors.killed_job FOLDER [BATCH [SHAPE]]``: sums from log to log, on Spark.

The JVM is killed once, in micro-batch BATCH (2), when a task has committed to the sink
and Spark does not know of it. SHAPE: with ``mapped`` in it the parallelism is another, and a step
stands before the sums; with ``dealt`` an exchange.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

from headrace.common import Configuration, WatermarkStrategy
from headrace.connector import SinkWriter, WriterContext
from headrace.datastream import StreamExecutionEnvironment
from tests.connectors.sqlite_log import SqliteLogSink, SqliteLogSource, SqliteLogWriter
from tests.faults.processes import kill_jvm_once

KEYS = 5
FIRST = 11


def main() -> None:
    folder, batch, shape = Path(sys.argv[1]), *(*sys.argv[2:], "2", "plain")[:2]
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(
            {
                "parallelism.default": "3" if "mapped" in shape else "2",
                "headrace.source.max-records-per-batch": "60",
                "execution.checkpointing.dir": str(folder / "checkpoint"),
                "headrace.spark.conf.spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
            }
        )
    )
    source = SqliteLogSource(str(folder / "given.db"), FIRST)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "log")
    if "mapped" in shape:
        numbers = numbers.filter(lambda n: True).name("mapped")
    if "dealt" in shape:
        numbers = numbers.rebalance().map(lambda n: n)
    sums = numbers.map(lambda n: [n % KEYS, n]).key_by(lambda pair: pair[0])
    summed = sums.reduce(lambda one, other: [one[0], one[1] + other[1]])
    flag, driver = str(folder / "killed"), os.getpid()
    summed.sink_to(KillingSink(str(folder / "taken.db"), int(batch), flag, driver)).uid("log")
    env.execute("sums")


@dataclass(frozen=True)
class KillingSink(SqliteLogSink):
    batch: int = 0
    flag: str = ""
    driver: int = 0

    def writer(self, context: WriterContext) -> SinkWriter:
        inner = super().writer(context)
        assert isinstance(inner, SqliteLogWriter)
        return KillingWriter(inner.context, inner.client, sink=self)


@dataclass
class KillingWriter(SqliteLogWriter):
    sink: KillingSink = field(kw_only=True)

    def prepare_commit(self) -> None:
        super().prepare_commit()
        if self.context.batch_id == self.sink.batch:
            kill_jvm_once(Path(self.sink.flag), self.sink.driver)


if __name__ == "__main__":
    main()
