"""``python -m tests.faults.sums_job OUTPUT MOMENT``: running sums, and an end at a bad moment.

At the commit of micro-batch 2 Spark's JVM is killed once: "before" the file sink publishes,
"after" it has, or when the driver is "told", which is between the sink's commit and Spark's.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headrace.common import Configuration, Encoder
from headrace.connector import (
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink
from tests.faults.processes import kill, kill_jvm_once

RECORDS = 200
KEYS = 5
BATCH = 2


def main() -> None:
    output, moment = Path(sys.argv[1]), sys.argv[2]
    flag = Path(f"{output}-killed")
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(
            {
                "parallelism.default": "2",
                "headrace.source.max-records-per-batch": "40",
                "execution.checkpointing.dir": f"{output}-checkpoint",
                "headrace.spark.conf.spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
            }
        )
    )
    files = FileSink.for_row_format(str(output), Encoder.simple_string_encoder()).build()
    numbers = env.from_sequence(0, RECORDS - 1).map(lambda n: (n % KEYS, n))
    sums = numbers.key_by(lambda pair: pair[0]).sum(1)
    sums.sink_to(files if moment == "told" else KillingSink(files, moment, flag))
    sums.print()
    if moment == "told":
        sys.stdout = KillingOut(flag)  # type: ignore[assignment]
    env.execute("sums")


@dataclass(frozen=True)
class KillingSink(Sink):
    files: Any
    moment: str
    flag: Path
    driver: int = field(default_factory=os.getpid)

    def writer(self, context: WriterContext) -> SinkWriter:
        return self.files.writer(context)

    def committer(self, context: CommitterContext) -> Committer:
        return KillingCommitter(self.files.committer(context), self)


@dataclass
class KillingCommitter(Committer):
    inner: Committer
    sink: KillingSink

    def commit(self, batch_id: int, committables: Sequence[Any]) -> None:
        if batch_id == BATCH:
            self._die("before")
        self.inner.commit(batch_id, committables)
        if batch_id == BATCH:
            self._die("after")

    def _die(self, moment: str) -> None:
        if moment == self.sink.moment and kill_jvm_once(self.sink.flag, self.sink.driver):
            kill(os.getpid())  # this process would go on for a while

    def abort(self, batch_id: int, committables: Sequence[Any]) -> None:
        self.inner.abort(batch_id, committables)

    def finish(self) -> None:
        self.inner.finish()


@dataclass
class KillingOut:
    """Standard output that ends Spark when the lines of micro-batch 2 come."""

    flag: Path
    writes: int = 0

    def write(self, text: str) -> int:
        self.writes += 1
        lines = Path(f"{self.flag}-lines")
        with lines.open("a") as file:
            file.write(text)
        if lines.read_text().count("\n") > BATCH * 40:
            kill_jvm_once(self.flag, os.getpid())
        return len(text)

    def flush(self) -> None:
        pass


if __name__ == "__main__":
    main()
