"""A bare transformWithState query of Headrace's shape: Python source, one stage, Python sink.

Job (a), in Rows and with no more code than it needs. Options: ``batch`` (records per micro-batch),
``light`` (see ``spark_session``).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit

from bench import workload
from bench.peers import event_log
from bench.peers.protocol import Outcome, Task, answer
from bench.peers.spark_session import session
from bench.peers.spark_state import CountAndSum, wait_for
from bench.tally import Tally

SPLITS = 2


@dataclass
class Range(InputPartition):
    """Every second record of a micro-batch."""

    start: int
    end: int


class Reader(DataSourceStreamReader):
    """Counts up by a micro-batch at a time, to the last record."""

    def __init__(self, records: int, keys: int, batch: int) -> None:
        self._records, self._keys, self._batch = records, keys, batch

    def initialOffset(self) -> dict[str, int]:
        """Before the first record."""
        return {"at": 0}

    def getDefaultReadLimit(self) -> ReadLimit:
        """One micro-batch, whatever is asked."""
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        """One micro-batch on."""
        return {"at": min(start["at"] + self._batch, self._records)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """One for each core."""
        return [Range(start["at"] + split, end["at"]) for split in range(SPLITS)]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """The records of a range."""
        make = workload.record_function(self._keys)
        made = list(map(make, range(partition.start, partition.end, SPLITS)))
        if made:
            keys, values, _ = zip(*made, strict=True)
            columns = [pa.array(keys, pa.int64()), pa.array(values, pa.int64())]
            yield pa.RecordBatch.from_arrays(columns, names=["k", "v"])


class Writer(DataSourceStreamArrowWriter):
    """Counts outputs."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Count one task's outputs."""
        for batch in iterator:
            found = list(zip(*(column.to_pylist() for column in batch.columns), strict=True))
            if found:
                self._tally(found)
        return WriterCommitMessage()

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Nothing is left to do."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Nothing can be undone."""


class BenchSource(DataSource):
    """Source and sink by their options."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "bench"

    def schema(self) -> str:
        """Keys and values."""
        return "k long, v long"

    def streamReader(self, schema: Any) -> Reader:
        """The reader."""
        chosen = self.options
        return Reader(int(chosen["records"]), int(chosen["keys"]), int(chosen["batch"]))

    def streamWriter(self, schema: Any, overwrite: bool) -> Writer:
        """The writer."""
        return Writer(Tally("a", self.options["folder"]))


def run(task: Task) -> Outcome:
    """Run the query until the last record is through."""
    if task.job != "a" or task.distribution != "uniform":
        raise SystemExit("this peer runs job a with uniform keys only")
    batch = int(task.option("batch", "100000"))
    spark = session(task)
    spark.dataSource.register(BenchSource)
    source = spark.readStream.format("bench").option("records", str(task.records))
    source = source.option("keys", str(task.keys)).option("batch", str(batch))
    outputs = (
        source.load()
        .groupBy("k")
        .transformWithState(
            statefulProcessor=CountAndSum(),
            outputStructType="k long, c long, s long",
            outputMode="Append",
            timeMode="None",
        )
    )
    writer = outputs.writeStream.format("bench").option("folder", str(task.folder))
    writer = writer.option("checkpointLocation", str(task.folder / "checkpoint"))
    started = time.perf_counter()
    query = writer.outputMode("append").start()
    wait_for(query, -(-task.records // batch))
    seconds = time.perf_counter() - started
    query.stop()
    facts = {"phases": event_log.phases(task)} if event_log.is_wanted(task) else {}
    return Outcome(seconds, task.tally.total(), facts)


if __name__ == "__main__":
    answer(run)
