"""``python -m tests.faults.sums_job OUTPUT [BASE [KEY=VALUE ...]]``: sums, with bad ends.

Checkpoint and results are at BASE, a folder or a URL (without: OUTPUT).

At the commit of a micro-batch Spark's JVM is killed, once for each moment: "before" the file sink
publishes, "after" it has, and when lines are "printed", between the sink's commit and Spark's.
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
PER_BATCH = 40
MOMENTS = {"before": 1, "after": 2, "printed": 3}
"""By moment, the micro-batch."""


def main() -> None:
    output = Path(sys.argv[1])
    base = sys.argv[2] if len(sys.argv) > 2 else str(output)
    further = dict(pair.split("=", 1) for pair in sys.argv[3:])
    killed = f"{output}-killed"
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(
            {
                "parallelism.default": "2",
                "headrace.source.max-records-per-batch": str(PER_BATCH),
                "execution.checkpointing.dir": f"{base}-checkpoint",
                "headrace.spark.conf.spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
                **further,
            }
        )
    )
    files = FileSink.for_row_format(base, Encoder.simple_string_encoder()).build()
    numbers = env.from_sequence(0, RECORDS - 1).map(lambda n: (n % KEYS, n))
    sums = numbers.key_by(lambda pair: pair[0]).sum(1)
    sums.sink_to(KillingSink(files, killed))
    sums.print()
    sys.stdout = KillingOut(killed)  # type: ignore[assignment]
    env.execute("sums")


def kill_at(moment: str, killed: str, driver: int) -> bool:
    """Kill the JVM; False if it was done at this moment before."""
    return kill_jvm_once(Path(f"{killed}-{moment}"), driver)


@dataclass(frozen=True)
class KillingSink(Sink):
    files: Any
    killed: str
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
        self._at("before", batch_id)
        self.inner.commit(batch_id, committables)
        self._at("after", batch_id)

    def _at(self, moment: str, batch_id: int) -> None:
        if batch_id == MOMENTS[moment] and kill_at(moment, self.sink.killed, self.sink.driver):
            kill(os.getpid())  # this process would go on for a while

    def abort(self, batch_id: int, committables: Sequence[Any]) -> None:
        self.inner.abort(batch_id, committables)

    def finish(self) -> None:
        self.inner.finish()


@dataclass
class KillingOut:
    """Standard output that ends Spark when the first line of a micro-batch comes."""

    killed: str

    def write(self, text: str) -> int:
        lines = Path(f"{self.killed}-lines")
        with lines.open("a") as file:
            file.write(text)
        if lines.read_text().count("\n") > MOMENTS["printed"] * PER_BATCH:
            kill_at("printed", self.killed, os.getpid())
        return len(text)

    def flush(self) -> None:
        pass


if __name__ == "__main__":
    main()
