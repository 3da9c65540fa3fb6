"""A session for Spark's own peers: as Headrace sets up its own, where that helps them.

Option ``light=1``: the JVM compiles with C1 only and Spark makes no code, as in Headrace's session.
That makes small micro-batches cheaper and large ones dearer.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from bench.peers import event_log
from bench.peers.protocol import Task

_STREAMING = "org.apache.spark.sql.execution.streaming"
_LIGHT = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def session(task: Task) -> SparkSession:
    """Two cores, RocksDB with a change log, and no process forked for a file."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = str(Path.cwd())
    values = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.pollingDelay": "10ms",
        "spark.sql.streaming.checkpointFileManagerClass": (
            f"{_STREAMING}.checkpointing.FileSystemBasedCheckpointFileManager"
        ),
        "spark.sql.streaming.stateStore.providerClass": (
            f"{_STREAMING}.state.RocksDBStateStoreProvider"
        ),
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.numRecentProgressUpdates": "100000",
    }
    if task.option("light", "0") == "1":
        values |= _LIGHT
    if event_log.is_wanted(task):
        values |= event_log.settings(task)
    builder = SparkSession.builder.master("local[2]").appName(f"bench-{task.job}")
    for key, value in values.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
