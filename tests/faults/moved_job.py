"""``RUN=n python -m tests.faults.moved_job OUTPUT SHAPE KILL``: two counts by key.

There is a stage for each; with ``rebalance`` in SHAPE a further one before them, and with ``later``
an operator with state after them; with ``p3`` there are three tasks. KILL is
``<micro-batch>-<moment>``: the driver is killed at the commit of the micro-batch, ``before`` or
``after`` the first sink has published; or ``never``.
A test calls ``run`` in its own process: there the commit fails at that moment.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from headrace.common import Configuration, Encoder
from headrace.connector import Committer, CommitterContext, Sink, SinkWriter, WriterContext
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink
from tests.faults.processes import kill

RECORDS = 240
KEYS = 7
PER_BATCH = 40


def main() -> None:
    quick = {"headrace.spark.conf.spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
    output, shape, moment = sys.argv[1:]
    run(Path(output), shape, moment, int(os.environ["RUN"]), os.getpid(), quick)


def run(
    output: Path,
    shape: str,
    moment: str,
    number: int,
    driver: int | None = None,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Run the job; ``driver``: the process that is killed at ``moment``, if any."""
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(
            {
                "parallelism.default": next(
                    (part[1:] for part in shape.split(",") if part[1:].isdigit()), "2"
                ),
                "headrace.source.max-records-per-batch": str(PER_BATCH),
                "execution.checkpointing.dir": f"{output}-checkpoint",
                **settings,
            }
        )
    )

    def write(stream: DataStream, name: str, moment: str = "never") -> None:
        folder = str(output / name)
        files = FileSink.for_row_format(folder, Encoder.simple_string_encoder()).build()
        sink = FailingSink(files, moment, f"{folder}-{number}-batches", driver)
        stream.sink_to(sink).uid(f"{name}-files")

    pairs = env.from_sequence(0, RECORDS - 1).map(lambda n: (n % KEYS, 1))
    if "rebalance" in shape:
        pairs = pairs.rebalance().map(lambda pair: pair)
    counts = pairs.key_by(lambda pair: pair[0]).sum(1).uid("counts")
    write(counts, "counts", moment)
    ones = counts.map(lambda pair: (pair[0] % 3, 1))
    sums = ones.key_by(lambda pair: pair[0]).sum(1).uid("sums")
    write(sums, "sums")
    if "later" in shape:
        later = sums.map(lambda pair: ("all", 1)).key_by(lambda pair: pair[0]).sum(1).uid("later")
        write(later, "later")
    env.execute("moved")


@dataclass(frozen=True)
class FailingSink(Sink):
    files: Any
    moment: str
    batches_file: str
    driver: int | None

    def writer(self, context: WriterContext) -> SinkWriter:
        return self.files.writer(context)

    def committer(self, context: CommitterContext) -> Committer:
        inner = self.files.committer(context)
        return FailingCommitter(inner, self.moment, Path(self.batches_file), self.driver)


@dataclass
class FailingCommitter(Committer):
    inner: Committer
    moment: str
    batches_file: Path
    driver: int | None

    def commit(self, batch_id: int, committables: Sequence[Any]) -> None:
        with self.batches_file.open("a") as file:
            file.write(f"{batch_id}\n")
        self._at(f"{batch_id}-before")
        self.inner.commit(batch_id, committables)
        self._at(f"{batch_id}-after")

    def _at(self, moment: str) -> None:
        if moment == self.moment:
            if self.driver is not None:
                kill(self.driver)
            raise RuntimeError("the end")  # Spark might get on before a killed driver has ended

    def abort(self, batch_id: int, committables: Sequence[Any]) -> None:
        self.inner.abort(batch_id, committables)

    def finish(self) -> None:
        self.inner.finish()


if __name__ == "__main__":
    main()
