"""Spark's own ``mapInArrow`` as a streaming query; job (d).

Text is read in the JVM; lines go to Python as Arrow, and what passes comes back as Arrow, into
Spark's noop sink.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

import pyarrow as pa

from bench import workload
from bench.peers.protocol import Outcome, Task, answer
from bench.peers.spark_session import session
from bench.tally import Tally

SCHEMA = pa.schema([("id", pa.int64()), ("symbol", pa.string()), ("notional", pa.int64())])


def decoder(tally: Tally):  # type: ignore[no-untyped-def]  # Spark looks at annotations
    """The function for ``mapInArrow``."""

    def decode(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = []
            for line in batch.column(0).to_pylist():
                order = workload.decode(line)
                if workload.wanted(order):
                    found.append(workload.summary(order))
            if found:
                columns = list(zip(*found, strict=True))
                arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
                tally(found)
                yield pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)

    return decode


def run(task: Task) -> Outcome:
    """Run the query over all files."""
    if task.job != "d":
        raise SystemExit("this peer runs job d only")
    spark = session(task)
    folder = workload.json_folder(task.records, task.scratch)
    lines = spark.readStream.text(str(folder))
    found = lines.mapInArrow(decoder(task.tally), "id long, symbol string, notional long")
    writer = found.writeStream.format("noop").outputMode("append").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(task.folder / "checkpoint"))
    started = time.perf_counter()
    query = writer.start()
    query.awaitTermination()
    seconds = time.perf_counter() - started
    return Outcome(seconds, task.tally.total())


if __name__ == "__main__":
    answer(run)
