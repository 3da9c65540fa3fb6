"""PySpark's transformWithState, Row flavour; job (a).

Its source is Spark's ``rate-micro-batch``, in the JVM, which has no end: the records behind the
last are dropped by a filter, and the query is stopped once it has gone by. The few outputs go to
Spark's memory sink, so that they can be counted.

Options: ``batch`` (records per micro-batch), ``light`` (see ``spark_session``).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from bench import workload
from bench.peers import event_log
from bench.peers.protocol import Outcome, Task, answer
from bench.peers.spark_session import session


class CountAndSum(StatefulProcessor):
    """Count and sum of a key: read and written once per key and micro-batch."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self._state = handle.getValueState("state", "c long, s long")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:
        """Count one key's rows."""
        count, total = self._state.get() or (0, 0)
        number = key[0]
        outputs = []
        for row in rows:
            count, total = count + 1, total + row[1]
            if (number + count) % workload.OUTPUT_EVERY == 0:
                outputs.append(Row(k=number, c=count, s=total))
        self._state.update((count, total))
        return iter(outputs)

    def close(self) -> None:
        """Nothing is held."""


def outputs(spark: SparkSession, task: Task, batch: int) -> DataFrame:
    """The job as a frame."""
    key = workload.UNIFORM_SQL.format(index="value", keys=task.keys)
    rate = spark.readStream.format("rate-micro-batch")
    source = rate.option("rowsPerBatch", batch).option("numPartitions", 2).load()
    records = source.where(f"value < {task.records}").selectExpr(
        f"{key} AS k", f"{workload.VALUE_SQL.format(index='value')} AS v"
    )
    return records.groupBy("k").transformWithState(
        statefulProcessor=CountAndSum(),
        outputStructType="k long, c long, s long",
        outputMode="Append",
        timeMode="None",
    )


def wait_for(query: StreamingQuery, batches: int) -> None:
    """Wait until so many micro-batches are done."""
    while (query.lastProgress or {"batchId": -1})["batchId"] < batches - 1:
        failure = query.exception()
        if failure is not None:
            raise failure
        time.sleep(0.02)


def run(task: Task) -> Outcome:
    """Run the query until the last record is through."""
    if task.job != "a" or task.distribution != "uniform":
        raise SystemExit("this peer runs job a with uniform keys only")
    batch = int(task.option("batch", "100000"))
    batches = -(-task.records // batch)
    spark = session(task)
    writer = outputs(spark, task, batch).writeStream.format("memory").queryName("outputs")
    writer = writer.option("checkpointLocation", str(task.folder / "checkpoint"))
    started = time.perf_counter()
    query = writer.outputMode("append").start()
    wait_for(query, batches)
    seconds = time.perf_counter() - started
    durations = [p["durationMs"]["triggerExecution"] for p in query.recentProgress]
    query.stop()
    facts: dict[str, Any] = {"batch_ms": durations[:batches]}
    if event_log.is_wanted(task):
        facts["phases"] = event_log.phases(task)
    tally = spark.sql("SELECT count(*), sum(k), sum(c), sum(s) FROM outputs").first()
    return Outcome(seconds, [int(n or 0) for n in tally or ()], facts)


if __name__ == "__main__":
    answer(run)
