"""The Spark session of a job: the active or submitted one, otherwise a new one.

A new session runs where the user's settings of Spark say, and on this machine if they say nothing.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shlex
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from headrace.common._storage.locations import is_url, split_url
from headrace.errors import UnsupportedError
from headrace.runners.dependencies.environment import ENVIRONMENT_VARIABLE
from headrace.runners.spark.modules import is_local, record_session, user_paths
from headrace.runners.spark.startup.class_archive import archive_options
from headrace.runners.spark.startup.interpreter import (
    named_python,
    other_python,
    path_of_this_interpreter,
    worker_python,
)
from headrace.runners.spark.startup.java import ensure_java
from headrace.runners.spark.startup.local_file_system import SETTING as FILE_SYSTEM
from headrace.runners.spark.startup.local_file_system import define_local_file_system
from headrace.runners.spark.startup.outside_settings import (
    MASTER,
    REMOTE,
    argument_settings,
    outside_settings,
)
from headrace.runners.spark.startup.spark_version import check_jvm, check_pyspark
from headrace.runners.spark.startup.submit_arguments import submitted_in_files
from headrace.runners.temporary_files import log_path, private_file, process_folder, write_private

_TASK_ATTEMPTS = 4
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"

# The JVM only moves bytes between Python processes, so code compiled by C1 is fast enough
# (docs/adr/0009-start-up.md). C2 takes a third of the time of a cold start, and on a cluster half
# of the driver's processor time in the first minute. The JVM's messages at its start go to the log,
# not to the user's output.
# With C1 alone the JVM reserves 48 MB for compiled code. That fills in a long run, and then nothing
# is compiled any more; 240 MB is its default with both.
_C1_ONLY = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m")
_QUICK_START = (*_C1_ONLY, "-Xlog:disable", "-Xlog:all=warning:stderr")
_ARCHIVE = "Archive"  # part of the name of each JVM option about archives of classes

_log = logging.getLogger(__name__)
_settings_lock = threading.Lock()

_STATE_STORE = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    # Otherwise Spark ignores a damaged snapshot, and fails with a null pointer if there is no
    # older one (4.3.0), which hides the file. Damage must be reported.
    "spark.sql.streaming.stateStore.autoSnapshotRepair.enabled": "false",
}

_FILE_MANAGER = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
}
_WITHOUT_CHECKSUMS = {"spark.sql.streaming.checkpoint.fileChecksum.enabled": "false"}

# Our operators process few, large rows: generating code for them costs more than it saves.
_WITHOUT_CODEGEN = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}

_ALWAYS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.python.worker.reuse": "true",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.pollingDelay": "10ms",
}
_API_MODE = "spark.api.mode"

WORKERS_PYTHON = "spark.pyspark.python"
"""The setting of the workers' interpreter, for a new session."""

_LONGEST_SOCKET_FOLDER = 61  # Spark refuses longer ones (4.3.0)

_SPARKS_PYTHON = "python3"  # what Spark's executors run if nothing else is set (4.3.0)

_NEW_SESSION = {
    "spark.app.name": "headrace",
    "spark.ui.showConsoleProgress": "false",
    **_ALWAYS,
}

_DAEMON = ("spark.python.daemon.module", "headrace.runners.spark.startup.daemon")

# Spark logs a failure ten times or more. The error for the user has the record and its key
# (headrace.runtime.failure), so they are removed from the log, as is the encoded exception
# (headrace.runners.spark.failures).
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
appender.file.layout.replace.type = replace
appender.file.layout.replace.regex = \
(?m)(?<=^(?:record:   |key:      |the record: |\
the row that was refused: ))\\\\S.*|(?<=\\\\[headrace-failure:)[^\\\\]]+
appender.file.layout.replace.replacement = ***
"""


def get_session(settings: Mapping[str, str], parallelism: int | None) -> SparkSession:
    """Return the active session, otherwise the submitted one, otherwise a new one.

    The last two have the job's ``headrace.spark.conf.*``.

    Raises:
        UnsupportedError: it would be a session of Spark Connect, or of another version of Spark.
    """
    check_pyspark()
    refuse_connect(settings)
    running = running_session()
    if running is not None:
        check_jvm(running._jvm)
        _warn_ignored(running, settings)
        spark = running
    elif was_submitted(os.environ):
        spark = _submitted_session(settings)
    else:
        spark = _new_session(settings, parallelism)
    _ignore_disconnects(spark)
    _quiet_waiting_jobs(spark._jvm)
    quiet_py4j()
    return spark


def running_session() -> SparkSession | None:
    """Return the session that this process has already; None if there is none.

    A session is active in the thread that made it. In other threads, only its context is found.
    """
    active = SparkSession.getActiveSession()
    if active is None and SparkContext._active_spark_context is not None:
        return SparkSession.builder.getOrCreate()
    return active


def chosen_master(settings: Mapping[str, str]) -> str | None:
    """Return the master that a new session will have; None if the user has chosen none."""
    return settings.get(MASTER) or outside_settings(os.environ).get(MASTER)


def runs_on_cluster(settings: Mapping[str, str]) -> bool:
    """Return whether jobs run on other machines, in the session there is or in a new one."""
    session = running_session()
    if session is not None:
        return not is_local(session.sparkContext.master or "local")
    return was_submitted(os.environ) or not is_local(chosen_master(settings) or "local")


def makes_local_session(settings: Mapping[str, str]) -> bool:
    """Return whether ``get_session`` makes a session that runs in a JVM on this machine."""
    if running_session() is not None or was_submitted(os.environ):
        return False
    return is_local(chosen_master(settings) or "local")


def refuse_connect(settings: Mapping[str, str]) -> None:
    """Raise UnsupportedError if the session is one of Spark Connect, or would be."""
    if "SPARK_CONNECT_MODE_ENABLED" in os.environ:
        where = {"session": "of Spark Connect"}
    elif running_session() is not None or was_submitted(os.environ):
        return
    else:
        given = {**outside_settings(os.environ), **settings}
        where = {key: given[key] for key in (REMOTE,) if given.get(key)}
        if given.get(_API_MODE) == "connect":
            where[_API_MODE] = "connect"
        if not where:
            return
    raise UnsupportedError(
        "Headrace needs a classic Spark session, and this is one of Spark Connect",
        where=where,
        hint="submit the program with spark-submit --master, or headrace run --master",
    )


def quiet_py4j() -> None:
    """Keep py4j's connection messages out of the program's log, unless the program sets a level.

    Otherwise a program that logs at INFO to standard output would print them between its results.
    """
    logger = logging.getLogger("py4j")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING)


def was_submitted(environ: Mapping[str, str]) -> bool:
    """Return whether ``spark-submit`` runs this program: a JVM runs and knows the master."""
    return "PYSPARK_GATEWAY_PORT" in environ and "PYSPARK_GATEWAY_SECRET" in environ


def submitted_settings(submitted: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a submitted session: those submitted, and defaults for others.

    The job's own settings have priority, as in any Spark program. Settings of a new JVM, or of one
    machine, are left out.
    """
    added = {key: value for key, value in _ALWAYS.items() if key not in submitted}
    # Then Headrace can be imported before Spark sends any files.
    packaged = ENVIRONMENT_VARIABLE in os.environ
    if (is_local(submitted.get(MASTER, "")) or packaged) and _DAEMON[0] not in submitted:
        added[_DAEMON[0]] = _DAEMON[1]
    return {**added, **settings}


def _submitted_session(settings: Mapping[str, str]) -> SparkSession:
    # Before this call, a SparkConf does not have the JVM's settings.
    SparkContext._ensure_initialized()
    check_jvm(SparkContext._jvm)
    submitted = dict(SparkConf().getAll())
    builder = SparkSession.builder
    for key, value in submitted_settings(submitted, settings).items():
        builder = builder.config(key, value)
    # Workers of a local master are on this machine, and can run this interpreter.
    local = is_local({**submitted, **settings}.get("spark.master", ""))
    chosen = settings.get(WORKERS_PYTHON)
    python = chosen or os.environ.get("PYSPARK_PYTHON") or sys.executable
    with (
        _workers_start_as(python, chosen=bool(chosen))
        if local or chosen
        else contextlib.nullcontext()
    ):
        return builder.getOrCreate()


_job_pythons: dict[str, str] = {}
"""The interpreter of an application, if a job has chosen it."""


def _warn_ignored(spark: SparkSession, settings: Mapping[str, str]) -> None:
    context = spark.sparkContext
    python = _job_pythons.get(context.applicationId or "", context.pythonExec)
    runs = {WORKERS_PYTHON: python}
    names_shown = {WORKERS_PYTHON: f"python.executable (its workers run {python})"}
    ignored = [
        names_shown.get(key, key)
        for key, value in settings.items()
        if value not in str(runs.get(key, spark.conf.get(key, None)))
    ]
    if ignored:
        print(
            f"headrace: a SparkSession is active already, so {', '.join(ignored)} has no effect:"
            " set it where the session is made",
            file=sys.stderr,
        )


def _ignore_disconnects(spark: SparkSession) -> None:
    """Print no traceback when the JVM disconnects from the accumulators' server.

    It disconnects when a query is stopped, and connects again for the next update (4.3.0).
    """
    server: Any = getattr(spark.sparkContext, "_accumulatorServer", None)
    if server is None or "handle_error" in vars(server):
        return
    default_handler = server.handle_error

    def handle_error(request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], EOFError | ConnectionError):
            default_handler(request, client_address)

    server.handle_error = handle_error


_WAITING = "org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecutionContext"
"""Logs two lines at INFO each time that Spark looks for records: 120 a second in a waiting job."""


def _quiet_waiting_jobs(jvm: Any) -> None:
    """Log warnings only where a waiting job logs; a level that the user has set stays."""
    log4j = jvm.org.apache.logging.log4j
    configuration = log4j.LogManager.getContext(False).getConfiguration()
    if configuration.getLoggerConfig(_WAITING).getName() != _WAITING:
        log4j.core.config.Configurator.setLevel(_WAITING, log4j.Level.WARN)


def prepare(settings: Mapping[str, str], parallelism: int | None) -> None:
    """Start the JVM for ``get_session`` in the background.

    Call it when it is certain that a job runs on Spark. Errors are raised by ``get_session``.
    """
    check_pyspark()
    refuse_connect(settings)
    if SparkSession.getActiveSession() is not None or SparkContext._gateway is not None:
        return
    if was_submitted(os.environ):
        return
    with _launch_lock:
        if not _launches:
            _launches.append(_Launch(settings, parallelism))


class _Launch:
    """The start of a JVM; for a local session also the fork server of its Python processes."""

    def __init__(self, settings: Mapping[str, str], parallelism: int | None) -> None:
        outside = outside_settings(os.environ)
        _print_contradictions(settings)
        self.local = is_local(settings.get(MASTER) or outside.get(MASTER) or "local")
        self.folders = user_paths() if self.local else []
        self.driver_path = path_of_this_interpreter()
        if self.local:
            self.settings = _local_settings(settings, parallelism, outside)
            self.own_file_system = FILE_SYSTEM not in {**outside, **settings}
            self.chosen = self.settings.get(WORKERS_PYTHON)
            self.python = (
                other_python(self.chosen, self.folders)
                if self.chosen
                else os.environ.get("PYSPARK_PYTHON") or worker_python(self.folders, log_path())
            )
        else:
            self.settings = _cluster_settings(settings, outside)
            self.chosen = settings.get(WORKERS_PYTHON)
            self.python = (
                self.chosen
                or os.environ.get("PYSPARK_PYTHON")
                or outside.get(WORKERS_PYTHON, _SPARKS_PYTHON)
            )
            if os.path.dirname(self.python) == "":
                self.driver_path = named_python(self.python, user_paths(), log_path())
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="headrace-jvm", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            if SparkContext._gateway is None:
                self._start_jvm()
        except BaseException as error:
            self._failure = error

    def _start_jvm(self) -> None:
        java = ensure_java()
        if self.local:
            options = self.settings[_JAVA_OPTIONS]
            quick = [] if _ARCHIVE in options else archive_options(java)
            self.settings[_JAVA_OPTIONS] = " ".join([*_QUICK_START, *quick, options])
        # The JVM inherits standard error, and workers' come through it.
        with (
            open(private_file(log_path()), "ab") as log,
            self.workers_start(),
            submitted_in_files(self.settings),
        ):
            gateway = launch_gateway(None, {"stderr": log})  # type: ignore[no-untyped-call]
        check_jvm(gateway.jvm)
        if self.local and self.own_file_system:
            self._define_file_system(gateway.jvm)
        SparkContext._ensure_initialized(gateway=gateway)

    def _define_file_system(self, jvm: Any) -> None:
        try:
            self.settings[FILE_SYSTEM] = define_local_file_system(jvm)
        except Py4JError as error:
            _log.warning(
                "small micro-batches take longer: Hadoop's local file system cannot be replaced,"
                " and starts a process for each file that it writes: %s",
                error,
            )

    def workers_start(self) -> contextlib.AbstractContextManager[None]:
        """Start workers with the launch's interpreter within a ``with`` block."""
        if self.local:
            return _workers_start_as(self.python, chosen=bool(self.chosen))
        driver = os.environ.get("PYSPARK_DRIVER_PYTHON", sys.executable)
        # Spark runs the executors' interpreter on the driver's machine too, to plan micro-batches.
        return _environment(
            {
                "PATH": self.driver_path,
                "PYSPARK_PYTHON": self.python,
                "PYSPARK_DRIVER_PYTHON": driver,
            }
        )

    def wait(self) -> None:
        """Wait until the JVM answers."""
        self._thread.join()
        if self._failure is not None:
            raise self._failure


_launches: list[_Launch] = []
_launch_lock = threading.Lock()


def _local_settings(
    settings: Mapping[str, str],
    parallelism: int | None,
    outside: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the settings of a local session: defaults, overridden by the user's.

    ``outside``: the user's settings outside of the program (``outside_settings``).
    """
    outside = outside or {}
    log4j = process_folder() / "log4j2.properties"
    write_private(log4j, _LOG4J.format(path=log_path()))
    to_log = shlex.quote(f"-Dlog4j2.configurationFile={log4j.as_uri()}")
    cores = parallelism or "*"
    defaults = {
        MASTER: f"local[{cores},{_TASK_ATTEMPTS}]",
        "spark.ui.enabled": "false",
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.log.level": "WARN",
        _DAEMON[0]: _DAEMON[1],
        **_socket_settings(process_folder()),
    }
    return {
        **_without(outside, {**_NEW_SESSION, **defaults}),
        **settings,
        # If two options contradict each other, the JVM uses the last one: the user's.
        _JAVA_OPTIONS: f"{to_log} {settings.get(_JAVA_OPTIONS, outside.get(_JAVA_OPTIONS, ''))}",
    }


def _socket_settings(folder: Path, platform: str = sys.platform) -> dict[str, str]:
    """Return the settings with which Spark uses Unix sockets in a folder to its Python processes.

    Over TCP, a message of Spark may wait until the process has acknowledged the previous message,
    which the process delays by 40 ms. Empty if the folder's path is too long for a socket, or if
    the system is not Linux: elsewhere the buffers of such sockets are too small for pipelined calls
    (``state_calls``).
    """
    if platform != "linux" or len(str(folder)) > _LONGEST_SOCKET_FOLDER:
        return {}
    key = "spark.python.unix.domain.socket"
    return {f"{key}.enabled": "true", f"{key}.dir": str(folder)}


def _cluster_settings(settings: Mapping[str, str], outside: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a new session on a cluster: defaults, overridden by the user's."""
    defaults = {**_NEW_SESSION, _JAVA_OPTIONS: " ".join(_C1_ONLY)}
    return {**_without(outside, defaults), **settings}


def _print_contradictions(settings: Mapping[str, str]) -> None:
    """Print which settings of the command line have no effect, because the job overrides them."""
    given = argument_settings(os.environ)
    changed = [key for key, value in settings.items() if given.get(key, value) != value]
    if changed:
        print(
            f"headrace: headrace.spark.conf.* sets {', '.join(changed)}, and overrides the values"
            " of the command line",
            file=sys.stderr,
        )


def _without(outside: Mapping[str, str], defaults: Mapping[str, str]) -> dict[str, str]:
    """Return the defaults of the keys that the user has not set."""
    return {key: value for key, value in defaults.items() if key not in outside}


def _new_session(settings: Mapping[str, str], parallelism: int | None) -> SparkSession:
    with _launch_lock:
        launch = _launches.pop() if _launches else _Launch(settings, parallelism)
    launch.wait()
    builder = SparkSession.builder
    for key, value in launch.settings.items():
        builder = builder.config(key, value)
    with launch.workers_start():
        spark = builder.getOrCreate()
    if launch.local:
        record_session(spark, launch.folders)
    if launch.chosen:
        _job_pythons[spark.sparkContext.applicationId or ""] = launch.chosen
    return spark


def end_jvm() -> None:
    """Stop the session that was made here, and wait until its JVM has ended."""
    session = SparkSession.getActiveSession()
    if session is not None:
        session.stop()
    process = getattr(SparkContext._gateway, "proc", None)
    if process is not None:
        process.stdin.close()
        process.wait()


def activate(spark: SparkSession) -> None:
    """Make the session active for this thread in the JVM too, where data sources are looked up."""
    classes = SparkSession._get_j_spark_session_class(spark._jvm)
    classes.setActiveSession(spark._jsparkSession)


@contextmanager
def _workers_start_as(python: str, *, chosen: bool = False) -> Iterator[None]:
    """Start workers of a new session with ``python``, unless the user chose another interpreter.

    ``chosen``: the job has chosen it, which has priority over the environment.
    """
    # Spark uses the second one for the process that looks up data sources.
    names = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
    free = [] if names[0] in os.environ else [name for name in names if name not in os.environ]
    with _environment(dict.fromkeys(names if chosen else free, python)):
        yield


@contextmanager
def _environment(changed: Mapping[str, str]) -> Iterator[None]:
    """Change environment variables within a ``with`` block."""
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def checkpoint_settings(checkpoint: str) -> dict[str, str]:
    """Return the settings for Spark's part of a checkpoint; the user's settings override them.

    On a local file system, without its native library, Hadoop forks about 34 processes per
    micro-batch with Spark's default manager of checkpoint files (a commit of state takes 115 ms,
    without them 4). ``FileSystemBasedCheckpointFileManager`` forks twelve, and none on our local
    file system (``startup/local_file_system.py``). On S3 neither manager has an atomic rename, and
    this one needs less than half of the requests (40 instead of 88 for a micro-batch with two
    partitions). HDFS and ABFS keep the default manager, which renames atomically there. Remote
    storage has its own checksums; Spark's checksums would double the number of files.
    """
    if not is_url(checkpoint):
        return _FILE_MANAGER
    if split_url(checkpoint).scheme == "s3a":
        return {**_FILE_MANAGER, **_WITHOUT_CHECKSUMS}
    return _WITHOUT_CHECKSUMS


def _settings_of_query(
    spark: SparkSession, shuffle_partitions: int, checkpoint: str | None, dataframes: bool
) -> dict[str, str]:
    settings = {
        **_STATE_STORE,
        "spark.sql.shuffle.partitions": str(shuffle_partitions),
        "spark.sql.adaptive.enabled": "false",
        # A packet may be large: few rows make an Arrow batch.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "256",
        "spark.sql.execution.arrow.maxBytesPerBatch": str(16 << 20),
        "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    }
    preferred = {} if checkpoint is None else checkpoint_settings(checkpoint)
    if not dataframes:
        preferred |= _WITHOUT_CODEGEN
    chosen = spark.sparkContext.getConf()
    settings.update((k, v) for k, v in preferred.items() if not chosen.contains(k))
    return settings


def session_beside(spark: SparkSession, shuffle_partitions: int) -> SparkSession:
    """Return another session of the same context for work beside queries, with their settings.

    It is active in this thread.
    """
    beside = spark.newSession()
    settings = _settings_of_query(spark, shuffle_partitions, None, dataframes=True)
    for key, value in settings.items():
        beside.conf.set(key, value)
    activate(beside)
    return beside


@contextmanager
def settings_of_query(
    spark: SparkSession, shuffle_partitions: int, checkpoint: str | None, *, dataframes: bool
) -> Iterator[None]:
    """Set the session's settings while a query starts, and restore them afterwards.

    The query copies the settings. Other jobs that start in this process wait. ``dataframes``:
    whether the query has DataFrames of the user.
    """
    settings = _settings_of_query(spark, shuffle_partitions, checkpoint, dataframes)
    with _settings_lock:
        before = {key: spark.conf.get(key, None) for key in settings}
        for key, value in settings.items():
            spark.conf.set(key, value)
        try:
            yield
        finally:
            for key, old in before.items():
                if old is None:
                    spark.conf.unset(key)
                else:
                    spark.conf.set(key, old)
