"""Spark's own SQL: over streams where it has the statement, and over Parquet as a batch.

Its streaming source is ``rate-micro-batch``, in the JVM, which has no end: the records behind the
last are dropped by a filter, and the query is stopped once it has gone by. In ``update`` mode a
micro-batch gives the last sums of the keys that it changed. Spark gives no row of a window that its
watermark has not passed. Nothing is counted in the timed query: a batch over the first records is.

Options: ``batch`` (records per micro-batch), ``store`` (rocksdb, heap).
"""

from __future__ import annotations

import time
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from bench import workload
from bench.peers.protocol import Outcome, Task, answer
from bench.peers.spark_session import session
from bench.peers.spark_state import wait_for
from bench.sql import statements

_HEAP = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
_TIME = f"timestamp_millis({workload.TIME_SQL})"
_SUMS = "count(*) AS c", "sum(v) AS s"


def records(rows: DataFrame, task: Task) -> DataFrame:
    """Key, value and event time of numbers."""
    key = workload.UNIFORM_SQL.format(index="i", keys=task.keys)
    at = _TIME.format(index="i", rate=workload.rate_per_ms(task.keys))
    return rows.selectExpr(
        f"{key} AS k", f"{workload.VALUE_SQL.format(index='i')} AS v", f"{at} AS ts"
    )


def query(rows: DataFrame, job: str) -> DataFrame:
    """Count and sum of a job."""
    from pyspark.sql import functions

    if job == "sg":
        grouped = rows.groupBy("k")
    else:
        size = functions.window("ts", f"{workload.TUMBLING_MS} milliseconds")
        late = f"{workload.DISORDER_MS} milliseconds"
        grouped = rows.withWatermark("ts", late).groupBy(size, "k")
    sums: list[Any] = [functions.expr(each) for each in _SUMS]
    return grouped.agg(*sums).select(*statements.SINK_COLUMNS[job])


def tally(found: DataFrame, job: str) -> list[int]:
    """The number of results and the sum of each column."""
    names = statements.SINK_COLUMNS[job]
    (row,) = found.selectExpr("count(*)", *(f"sum({name})" for name in names)).collect()
    return [int(each or 0) for each in row]


def streamed(spark: SparkSession, task: Task) -> Outcome:
    """Run a stream until the last record is through."""
    if task.option("store", "rocksdb") == "heap":
        spark.conf.set("spark.sql.streaming.stateStore.providerClass", _HEAP)
    batch = int(task.option("batch", "1000000"))
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", batch)
    numbers = source.option("numPartitions", 2).load().where(f"value < {task.records}")
    found = query(records(numbers.selectExpr("value AS i"), task), task.job)
    writer = found.writeStream.format("noop").outputMode("update" if task.job == "sg" else "append")
    writer = writer.option("checkpointLocation", str(task.folder / "checkpoint"))
    started = time.perf_counter()
    stream = writer.start()
    wait_for(stream, -(-task.records // batch))
    seconds = time.perf_counter() - started
    stream.stop()
    few = statements.checked_records(task.job, task.records)
    checked = query(records(spark.range(few).selectExpr("id AS i"), task), task.job)
    return Outcome(seconds, tally(checked, task.job), {"checked_records": few})


def run(task: Task) -> Outcome:
    """Run the statement to its end."""
    if task.job not in statements.JOBS or task.job in statements.PYTHON_JOBS:
        raise SystemExit("this peer runs the SQL jobs without Python only")
    spark = session(task)
    if task.job != "sf":
        return streamed(spark, task)
    spark.read.parquet(str(workload.parquet_folder(task.records, task.scratch))).createTempView(
        "records"
    )
    found = spark.sql(statements.QUERIES["sf"])
    started = time.perf_counter()
    found.write.format("noop").mode("overwrite").save()
    return Outcome(time.perf_counter() - started, tally(found, "sf"))


if __name__ == "__main__":
    answer(run)
