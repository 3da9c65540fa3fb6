"""Starts a job for a stream graph: plans it, and chooses the runner and the settings."""

from __future__ import annotations

import atexit
import itertools
import logging
import os
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any

from headrace.common._options import catalogue as options
from headrace.common._options.metric_reporters import read_reporters
from headrace.common._storage.local_files import local_path
from headrace.common._storage.locations import location_of, use_access, uses_urls
from headrace.common.configuration import Configuration
from headrace.common.job_client import JobClient, JobHandle
from headrace.common.job_execution_result import JobExecutionResult
from headrace.common.job_id import JobID
from headrace.common.job_status import JobStatus
from headrace.errors import ConfigurationError, PlanError
from headrace.graph.stream_graph import StreamGraph
from headrace.metrics._operator_counts import JobListener
from headrace.planner.explain import explain_text, plan_json
from headrace.planner.plan import PlanOptions, plan
from headrace.runners.clock import wall_clock_ms
from headrace.runners.delivery import Delivery
from headrace.runners.dependencies import activation
from headrace.runners.dependencies.declared import (
    Dependencies,
    declared_dependencies,
    is_this_interpreter,
)
from headrace.runners.dependencies.folder import dependencies_folder, working_folder
from headrace.runners.hadoop_files import access_without_spark
from headrace.runners.job_graph import job_graph
from headrace.runners.local import LocalRun
from headrace.runners.observers import JobInfo, JobObserver, Observers
from headrace.runners.subtasks import OperatorMetrics, metrics_by_subtask
from headrace.runners.ui.start import display_observers
from headrace.runtime.failure import to_job_failure
from headrace.runtime.pacing import Pace
from headrace.runtime.program import JobProgram, Settings
from headrace.tracebacks import format_error, trim_tracebacks

DEFAULT_NAME = "Headrace Streaming Job"
_LOCAL_RECORDS_PER_BATCH = 50_000
_RECORDS_PER_TASK = 4_000_000
_BYTES_PER_TASK = 128 << 20
_PRINT_FAILURE_SECONDS = 5.0
_MAX_TARGET_FACTOR = 6
"""A micro-batch with large fixed costs may take this many times its target duration."""


class LocalJob:
    """A job of the local runner, in its own thread; a ``JobHandle``."""

    def __init__(
        self,
        program: JobProgram,
        delivery: Delivery,
        dependencies: Dependencies | None = None,
        listeners: Sequence[JobListener] = (),
        observers: Sequence[JobObserver] = (),
    ) -> None:
        self.job_id = JobID(program.run_id)
        self.delivery = delivery
        dependencies = dependencies or Dependencies()
        activation.activate(str(dependencies_folder(dependencies) or ""), dependencies.worker_path)
        try:
            self._observers = Observers(observers)
            self._run = LocalRun(program, delivery, listeners=listeners, observers=self._observers)
        except BaseException:
            activation.deactivate()
            raise
        self._cancelled = threading.Event()
        self._status = JobStatus.RUNNING
        self._failure: BaseException | None = None
        self._trace: TracebackType | None = None
        self._started = time.monotonic()
        self._net_runtime_ms = 0
        if self._observers:
            self._observers.start(_local_info(self._run.program))
        self._thread = threading.Thread(target=self._run_job, name="headrace-job", daemon=True)
        self._thread.start()

    def _run_job(self) -> None:
        try:
            self._run.run(self._cancelled.is_set)
            self._status = JobStatus.CANCELED if self._cancelled.is_set() else JobStatus.FINISHED
        except BaseException as error:
            self._failure = trim_tracebacks(to_job_failure(error))
            self._trace = self._failure.__traceback__
            self._status = JobStatus.FAILED
            self._observers.failure(self._failure, None)
        finally:
            self._net_runtime_ms = round((time.monotonic() - self._started) * 1000)
            self._observers.end(self._status)
            activation.deactivate()
            self.delivery.close()

    def status(self) -> JobStatus:
        """Return the job's status."""
        return self._status

    def cancel(self) -> None:
        """Cancel the job and wait for its end."""
        self._cancelled.set()
        self._thread.join()

    def wait(self) -> JobExecutionResult:
        """Wait for the job's end. Raises the exception that it failed with."""
        self._thread.join()
        if self._failure is not None:
            raise self._failure.with_traceback(self._trace)
        return JobExecutionResult(self.job_id, self._net_runtime_ms, self.accumulators())

    def accumulators(self) -> Mapping[str, Any]:
        """Return the current values of the job's counters."""
        return self._run.accumulators()

    def metrics(self) -> OperatorMetrics:
        """Return the current metrics by operator and subtask."""
        return metrics_by_subtask(self._run.program, self._run.reporting.totals)


def _local_info(program: JobProgram) -> JobInfo:
    return JobInfo(
        job_id=program.run_id,
        name=program.name,
        runner="local",
        location=f"process {os.getpid()}",
        cores=1,
        checkpoint=None,
        started_ms=wall_clock_ms(),
        graph=job_graph(program),
        program=program,
    )


def _local_cores() -> int:
    return os.cpu_count() or 1


def program_of(
    graph: StreamGraph,
    configuration: Configuration,
    job_name: str | None,
    default_parallelism: Callable[[], int] = _local_cores,
) -> JobProgram:
    """Plan a graph under a configuration.

    ``default_parallelism`` is called if no parallelism is configured.

    Raises:
        PlanError: batch mode is configured and a source is unbounded.
    """
    mode = options.read(configuration, options.RUNTIME_MODE)
    if mode == "BATCH" and not graph.bounded:
        endless = next(source for source in graph.sources if not source.source.bounded)
        raise PlanError(
            f"the source {endless.name!r} has no end, so the job cannot run as a batch",
            where={"source": f"{endless.name}, built at {endless.site}"},
            hint="use RuntimeExecutionMode.STREAMING, or a bounded source",
        )
    drain = options.read(configuration, options.STOP_DRAIN)
    if mode == "BATCH" and not drain:
        raise ConfigurationError(
            f"{options.STOP_DRAIN.key} is false, and a batch keeps no state that could stay open",
            where={options.RUNTIME_MODE.key: mode},
            hint="use RuntimeExecutionMode.STREAMING: it reads up to the same offsets, and ends",
        )
    parallelism = options.read(configuration, options.PARALLELISM) or default_parallelism()
    local = _is_local(configuration)
    max_records = options.read(configuration, options.MAX_RECORDS_PER_BATCH)
    if max_records is None:
        max_records = _LOCAL_RECORDS_PER_BATCH if local else _RECORDS_PER_TASK * parallelism
    max_bytes = options.read(configuration, options.MAX_BYTES_PER_BATCH)
    if max_bytes is None:
        max_bytes = _BYTES_PER_TASK * parallelism
    settings = Settings(
        object_reuse=options.read(configuration, options.OBJECT_REUSE),
        chunk_records=options.read(configuration, options.WATERMARK_CHUNK_RECORDS),
        page_bytes=options.read(configuration, options.STATE_PAGE_BYTES),
        value_bytes=options.read(configuration, options.STATE_VALUE_BYTES),
        max_records=max_records,
        max_bytes=max_bytes,
        pace=_read_pace(configuration, max_records),
        tick_ms=options.read(configuration, options.PROCESSING_TIME_TICK),
        capture_dir=_absolute_folder(options.read(configuration, options.FAILURE_CAPTURE_DIR)),
        drain=drain,
        job_parameters=options.read(configuration, options.JOB_PARAMETERS),
        log_levels=options.log_levels(configuration.to_dict()),
    )
    name = _name_of(configuration, job_name)
    max_parallelism = options.read(configuration, options.MAX_PARALLELISM)
    program = plan(
        graph,
        PlanOptions(
            name=name,
            parallelism=parallelism,
            max_parallelism=max_parallelism
            if max_parallelism and max_parallelism > 0
            else options.DEFAULT_MAX_PARALLELISM,
            chaining=options.read(configuration, options.CHAINING),
            batch=mode == "BATCH" or (mode == "AUTOMATIC" and drain and graph.bounded),
            combining=options.read(configuration, options.COMBINING),
            columns=options.read(configuration, options.COLUMNS),
            settings=settings,
        ),
    )
    run_id = uuid.uuid4().hex
    return replace(program, run_id=run_id, scope=run_id[:12])


def _name_of(configuration: Configuration, job_name: str | None) -> str:
    return job_name or options.read(configuration, options.PIPELINE_NAME) or DEFAULT_NAME


def _absolute_folder(path: str | None) -> str:
    """Return the absolute path of a folder, which workers need; empty for None."""
    return os.path.abspath(local_path(path)) if path else ""


def _read_pace(configuration: Configuration, max_records: int) -> Pace | None:
    target_ms = options.read(configuration, options.BATCH_TARGET)
    if target_ms <= 0:
        return None
    min_records = min(options.read(configuration, options.MIN_RECORDS_PER_BATCH), max_records)
    initial_records = options.read(configuration, options.INITIAL_RECORDS_PER_BATCH)
    return Pace(
        target_ms, _MAX_TARGET_FACTOR * target_ms, min_records, max_records, initial_records
    )


def start(
    graph: StreamGraph,
    configuration: Configuration,
    job_name: str | None,
    listeners: Sequence[JobListener] = (),
    observers: Sequence[JobObserver] = (),
) -> JobHandle:
    """Start a job on the configured runner."""
    name = job_name or options.read(configuration, options.PIPELINE_NAME) or DEFAULT_NAME
    shown = display_observers(configuration, name, lambda: _is_on_cluster(configuration))
    observers = (*shown, *observers, *_metric_reporting(configuration))
    _set_log_levels(options.log_levels(configuration.to_dict()))
    program = program_of(
        graph, configuration, job_name, _default_parallelism(configuration, job_name)
    )
    _check_checkpoint_dir(program, configuration, job_name)
    _require_checkpoint_without_drain(program, configuration)
    dependencies = declared_dependencies(configuration)
    if working_folder(dependencies_folder(dependencies)) is not None:
        program = _with_absolute_paths(program)
    delivery = Delivery()
    if _is_local(configuration):
        _warn_ignored(configuration)
        _warn_other_interpreter(dependencies)
        if uses_urls(program.locators):
            settings = options.spark_settings(configuration.to_dict())
            use_access(access_without_spark(settings, os.environ))
        return LocalJob(program, delivery, dependencies, listeners, observers)
    from headrace.runners.spark.start import start_on_spark

    return start_on_spark(
        program,
        delivery,
        configuration,
        fresh=os.environ.get(options.FRESH_VARIABLE) == "1",
        dependencies=dependencies,
        listeners=listeners,
        observers=observers,
    )


def _default_parallelism(configuration: Configuration, job_name: str | None) -> Callable[[], int]:
    if _is_local(configuration):
        return _local_cores

    def default_parallelism() -> int:
        batch = options.read(configuration, options.RUNTIME_MODE) == "BATCH"
        folder = None if batch else _checkpoint_dir(configuration)
        from headrace.runners.spark import start

        return start.default_parallelism(configuration, folder, _name_of(configuration, job_name))

    return default_parallelism


def _planned_parallelism(configuration: Configuration) -> int:
    """Return the default parallelism for a plan that is only shown: no session is started."""
    if not _is_local(configuration):
        from headrace.runners.spark.start import running_cores

        return running_cores() or _local_cores()
    return _local_cores()


def _metric_reporting(configuration: Configuration) -> Sequence[JobObserver]:
    """Return an observer that reports metrics, if reporters are configured."""
    reporters = read_reporters(configuration)
    if not reporters:
        return ()
    from headrace.runners.reporters.reporting import MetricReporting

    return (MetricReporting(reporters),)


def _set_log_levels(levels: Mapping[str, str]) -> None:
    """Set the levels of loggers; what they log is printed, unless the program has a handler."""
    if levels and not logging.getLogger().handlers:
        logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s %(message)s")
    for name, level in levels.items():
        logging.getLogger(name or None).setLevel(level)


def _is_on_cluster(configuration: Configuration) -> bool:
    if _is_local(configuration):
        return False
    from headrace.runners.spark.startup.session import runs_on_cluster

    return runs_on_cluster(options.spark_settings(configuration.to_dict()))


def _is_local(configuration: Configuration) -> bool:
    """Return whether jobs run in this process (``headrace run --local`` or configured)."""
    is_requested = os.environ.get(options.LOCAL_VARIABLE) == "1"
    return is_requested or options.read(configuration, options.TARGET) == "local"


def _with_absolute_paths(program: JobProgram) -> JobProgram:
    """Return the program with absolute paths, for tasks that have their own working directory."""
    sources = [replace(each, source=_with_absolute_path(each.source)) for each in program.sources]
    sinks = [replace(each, sink=_with_absolute_path(each.sink)) for each in program.sinks]
    return replace(program, sources=tuple(sources), sinks=tuple(sinks))


def _with_absolute_path(connector: Any) -> Any:
    return connector.absolute() if hasattr(connector, "absolute") else connector


def _checkpoint_dir(configuration: Configuration) -> str | None:
    """Return the folder of checkpoints; raise UnsupportedError if its storage is not known."""
    folder = options.read(configuration, options.CHECKPOINT_DIR)
    if folder:
        location_of(folder, f"checkpoints ({options.CHECKPOINT_DIR.key})")
    return folder or None


def _check_checkpoint_dir(
    program: JobProgram, configuration: Configuration, job_name: str | None
) -> None:
    """Raise UnsupportedError for a checkpoint folder on storage that is not known.

    Raises:
        ConfigurationError: there is a checkpoint folder, but the job has no name.
    """
    if program.batch or _is_local(configuration):
        return  # neither keeps a checkpoint
    folder = _checkpoint_dir(configuration)
    if not folder:
        return
    if not (job_name or options.read(configuration, options.PIPELINE_NAME)):
        raise ConfigurationError(
            "a checkpoint is found by the name of its job, and this job has none",
            where={options.CHECKPOINT_DIR.key: folder},
            hint=f"set {options.PIPELINE_NAME.key}, or give execute(), execute_async() or"
            " execute_and_collect() a name; each job of a program needs one of its own",
        )


def _require_checkpoint_without_drain(program: JobProgram, configuration: Configuration) -> None:
    """Raise ConfigurationError if a run neither drains nor has a checkpoint for open windows."""
    if program.settings.drain or _is_local(configuration):
        return
    if not options.read(configuration, options.CHECKPOINT_DIR):
        raise ConfigurationError(
            f"{options.STOP_DRAIN.key} is false, and what the run leaves open is kept nowhere",
            hint=f"set {options.CHECKPOINT_DIR.key}",
        )


def _warn_ignored(configuration: Configuration) -> None:
    keys = [options.CHECKPOINT_DIR.key, options.RESTART_STRATEGY.key]
    ignored = [key for key in keys if configuration.contains_key(key)]
    if ignored:
        print(f"headrace: the local runner ignores {', '.join(ignored)}", file=sys.stderr)
    if not options.read(configuration, options.STOP_DRAIN):
        print(
            "headrace: the local runner keeps no checkpoint: what stays open is gone at the end",
            file=sys.stderr,
        )


def _warn_other_interpreter(dependencies: Dependencies) -> None:
    if dependencies.executable and not is_this_interpreter(dependencies.executable):
        print(
            f"headrace: the local runner runs functions in {sys.executable},"
            f" not in {dependencies.executable} (python.executable)",
            file=sys.stderr,
        )


def execute(
    graph: StreamGraph,
    configuration: Configuration,
    job_name: str | None,
    listeners: Sequence[JobListener] = (),
) -> JobExecutionResult:
    """Run a job to its end; an interrupt cancels it."""
    with _default_interrupts():
        job = start(graph, configuration, job_name, listeners)
        with _default_interrupts():  # the new session may have set a handler
            return _wait(job)


def _wait(job: JobHandle) -> JobExecutionResult:
    try:
        return job.wait()
    except KeyboardInterrupt as interrupt:
        print("cancelling the job", file=sys.stderr)
        try:
            job.cancel()
        except KeyboardInterrupt:
            print("headrace: the job's end is not waited for", file=sys.stderr)
        raise interrupt.with_traceback(None) from None  # its traceback would only show this wait


@contextmanager
def _default_interrupts() -> Iterator[None]:
    """Replace PySpark's handler of Ctrl-C by Python's default within a ``with`` block.

    PySpark's handler calls into the JVM, even in the middle of another call. That breaks the
    connection and fails the micro-batch with which a cancelled job ends (Spark 4.3). A handler of
    the user stays.
    """
    before = signal.getsignal(signal.SIGINT)
    of_pyspark = str(getattr(before, "__module__", "")).startswith("pyspark")
    if not of_pyspark or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def execute_async(
    graph: StreamGraph,
    configuration: Configuration,
    job_name: str | None,
    listeners: Sequence[JobListener] = (),
) -> JobClient:
    """Start a job and return its client.

    A failure is printed at once, unless the program waits for it.
    """
    job = start(graph, configuration, job_name, listeners)
    client = JobClient(job)
    name = _name_of(configuration, job_name)
    watcher = threading.Thread(target=_print_failure, args=(job, client, name), daemon=True)
    watcher.start()
    # A program may end at the moment at which its job fails.
    atexit.register(lambda: watcher.join(_PRINT_FAILURE_SECONDS if _has_failed(job) else 0))
    return client


def _has_failed(job: JobHandle) -> bool:
    return job.status() is JobStatus.FAILED


def _print_failure(job: JobHandle, client: JobClient, name: str) -> None:
    """Wait for the end of a job, and print its failure unless the program waits for the job."""
    try:
        job.wait()
    except BaseException as error:
        if not client.is_waited_for():
            print(
                f"headrace: {name!r} failed\n{format_error(error)}",
                end="",
                file=sys.stderr,
                flush=True,
            )


def execute_and_collect(
    graph: StreamGraph,
    configuration: Configuration,
    job_name: str | None,
    limit: int | None,
    listeners: Sequence[JobListener] = (),
) -> tuple[Iterator[Any], Callable[[], None]]:
    """Start a job; return its collected records as they arrive, and a function that cancels it."""
    job: Any = start(graph, configuration, job_name, listeners)

    def results() -> Iterator[Any]:
        yield from itertools.islice(job.delivery.collected(), limit)
        if limit is None or job.status() == JobStatus.FAILED:
            job.wait()
        else:
            job.cancel()

    return results(), job.cancel


def execution_plan(graph: StreamGraph, configuration: Configuration) -> str:
    """Return the plan as JSON, in the format of Flink's plan visualizer."""
    cores = partial(_planned_parallelism, configuration)
    return plan_json(graph, program_of(graph, configuration, None, cores))


def explain(graph: StreamGraph, configuration: Configuration) -> str:
    """Return the physical plan as text."""
    cores = partial(_planned_parallelism, configuration)
    return explain_text(program_of(graph, configuration, None, cores))
