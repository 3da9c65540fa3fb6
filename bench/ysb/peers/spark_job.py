"""Spark's own operators: everything in the JVM, campaigns as a broadcast table.

Spark has no connector for Redis: campaigns are read when the job starts, and the driver writes the
results of a micro-batch, a few hundred rows. Options: ``late_ms``: Spark's watermark is that of the
partition that is ahead, so events need so long; ``batch``: most events of a micro-batch.
"""

from __future__ import annotations

import os
from typing import Any

import redis
from pyspark.sql import functions as f

from bench.peers.protocol import Task
from bench.peers.spark_session import session
from bench.ysb.asked import RESULTS, Asked, asked
from bench.ysb.events import AD_IDS, VIEW, WINDOW_MS

EVENT = "ad_id STRING, event_type STRING, event_time STRING"


def counted(spark: Any, task: Asked, client: Any) -> Any:
    """Campaign, start of the window in ms, views."""
    events = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", task.brokers)
        .option("subscribe", task.topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", task.option("batch", "500000"))
        .load()
    )
    views = (
        events.select(f.from_json(f.col("value").cast("string"), EVENT).alias("event"))
        .where(f.col("event.event_type") == VIEW)
        .select(
            f.col("event.ad_id").alias("ad"),
            f.timestamp_millis(f.col("event.event_time").cast("long")).alias("at"),
        )
        .withWatermark("at", f"{task.option('late_ms', '0')} milliseconds")
    )
    known = zip(AD_IDS, client.mget(AD_IDS), strict=True)
    campaigns = spark.createDataFrame([*known], "ad STRING, campaign STRING")
    window = f.window("at", f"{WINDOW_MS} milliseconds")
    windows = views.join(f.broadcast(campaigns), "ad").groupBy("campaign", window).count()
    return windows.select("campaign", f.unix_millis(f.col("window.start")), "count")


def main() -> None:
    task = asked()
    client = redis.Redis.from_url(task.redis, decode_responses=True)

    def write(rows: Any, number: int) -> None:
        with client.pipeline(transaction=False) as pipe:
            for campaign, window, views in rows.collect():
                fields = {"campaign": campaign, "window": window, "views": views}
                pipe.xadd(RESULTS, fields)
            pipe.execute()

    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--jars {task.option('jars', '')} pyspark-shell"
    spark = session(Task("ysb", 0, 0, "", {}, task.path, task.path))
    query = (
        counted(spark, task, client)
        .writeStream.outputMode("append")
        .option("checkpointLocation", str(task.path / "checkpoint"))
        .foreachBatch(write)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main()
