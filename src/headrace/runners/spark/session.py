"""The Spark session a job runs in: the active one, else a quiet local one."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from headrace.runners.spark.interpreter import worker_python
from headrace.runners.spark.java import ensure_java
from headrace.runners.spark.modules import remember, user_paths

_TASK_ATTEMPTS = 4
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"

_settings_lock = threading.Lock()

_STATE_STORE = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
}

# Hadoop without its native library forks about 34 processes per micro-batch on a local file
# system; this manager does not (design notes: state commit 115 to 4 ms, Spark 4.3.0).
_LOCAL_CHECKPOINTS = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
}

_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
logger.state.name = org.apache.spark.sql.execution.python.streaming
logger.state.level = error
appender.file.type = File
appender.file.name = file
appender.file.fileName = {path}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss.SSS}} %p %c: %m%n%ex
"""


def session_for(settings: Mapping[str, str], parallelism: int | None) -> SparkSession:
    """The active session, or a new local one with the job's ``headrace.spark.conf.*`` in it."""
    active = SparkSession.getActiveSession()
    if active is not None:
        _tell_ignored(active, settings)
    spark = active or _local_session(settings, parallelism)
    _bear_hang_ups(spark)
    return spark


def _tell_ignored(spark: SparkSession, settings: Mapping[str, str]) -> None:
    ignored = [k for k, v in settings.items() if v not in str(spark.conf.get(k, None))]
    if ignored:
        print(
            f"headrace: there is a SparkSession already, so {', '.join(ignored)} has no effect",
            file=sys.stderr,
        )


def _bear_hang_ups(spark: SparkSession) -> None:
    """Print no traceback when the JVM hangs up on the accumulators' server.

    It does so whenever a query is stopped, and connects anew for the next update (Spark 4.3.0).
    """
    server: Any = getattr(spark.sparkContext, "_accumulatorServer", None)
    if server is None or "handle_error" in vars(server):
        return
    tell = server.handle_error

    def handle_error(request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], EOFError | ConnectionError):
            tell(request, client_address)

    server.handle_error = handle_error


def log_path() -> Path:
    """Where the JVM of a session made here writes its log."""
    return Path(tempfile.gettempdir()) / f"headrace-spark-{os.getpid()}.log"


def _local_session(settings: Mapping[str, str], parallelism: int | None) -> SparkSession:
    ensure_java()
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    log4j = Path(tempfile.gettempdir()) / f"headrace-log4j2-{os.getpid()}.properties"
    log4j.write_text(_LOG4J.format(path=log_path()))
    builder = SparkSession.builder.appName("headrace")
    cores = parallelism or "*"
    defaults = {
        "spark.master": f"local[{cores},{_TASK_ATTEMPTS}]",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        _JAVA_OPTIONS: f"-Dlog4j2.configurationFile=file:{log4j}",
        "spark.log.level": "WARN",
        "spark.sql.session.timeZone": "UTC",
        "spark.python.worker.reuse": "true",
        "spark.python.daemon.module": "headrace.runners.spark.daemon",
        "spark.sql.streaming.metricsEnabled": "false",
        "spark.sql.streaming.pollingDelay": "10ms",
    }
    if _JAVA_OPTIONS in settings:
        settings = {
            **settings,
            _JAVA_OPTIONS: f"{defaults[_JAVA_OPTIONS]} {settings[_JAVA_OPTIONS]}",
        }
    for key, value in {**defaults, **settings}.items():
        builder = builder.config(key, value)
    folders = user_paths()
    with _stderr_into(log_path()), _workers_start_as(worker_python(folders)):
        spark = builder.getOrCreate()
    remember(spark, folders)
    return spark


def activate(spark: SparkSession) -> None:
    """Make the session this thread's own in the JVM too, where data sources are looked up."""
    classes = SparkSession._get_j_spark_session_class(spark._jvm)
    classes.setActiveSession(spark._jsparkSession)


@contextmanager
def _workers_start_as(python: str) -> Iterator[None]:
    """A session made meanwhile starts its workers so, unless the user has chosen otherwise."""
    if "PYSPARK_PYTHON" in os.environ:
        yield
        return
    os.environ["PYSPARK_PYTHON"] = python
    try:
        yield
    finally:
        del os.environ["PYSPARK_PYTHON"]


@contextmanager
def _stderr_into(path: Path) -> Iterator[None]:
    """Let the JVM, which inherits standard error when it starts, write it to a file.

    A session on a JVM that runs already changes nothing.
    """
    if SparkContext._gateway is not None:
        yield
        return
    sys.stderr.flush()
    kept = os.dup(2)
    with path.open("ab") as log:
        os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def settings_of_query(
    spark: SparkSession, shuffle_partitions: int, checkpoint: str | None
) -> Iterator[None]:
    """The session's settings while a query starts (it copies them); restored afterwards.

    One job at a time: others that start in this process wait.
    """
    wanted = {
        **_STATE_STORE,
        "spark.sql.shuffle.partitions": str(shuffle_partitions),
        "spark.sql.adaptive.enabled": "false",
        # One key group's envelopes may be large: few rows make an Arrow batch.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "256",
        "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    }
    if checkpoint is not None and "://" not in checkpoint:
        wanted.update(_LOCAL_CHECKPOINTS)
    with _settings_lock:
        before = {key: spark.conf.get(key, None) for key in wanted}
        for key, value in wanted.items():
            spark.conf.set(key, value)
        try:
            yield
        finally:
            for key, old in before.items():
                if old is None:
                    spark.conf.unset(key)
                else:
                    spark.conf.set(key, old)
