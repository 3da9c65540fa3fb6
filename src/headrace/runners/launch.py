"""Starts a job for a stream graph: plans it, and chooses the runner and the settings."""

from __future__ import annotations

import atexit
import itertools
import logging
import os
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.common._options import catalogue as options
from headrace.common._options.metric_reporters import read_reporters
from headrace.common._storage.local_files import local_path
from headrace.common._storage.locations import location_of, use_access, uses_urls
from headrace.common.configuration import Configuration
from headrace.common.job_client import JobClient, JobHandle
from headrace.common.job_execution_result import JobExecutionResult
from headrace.common.job_status import JobStatus
from headrace.errors import ConfigurationError, PlanError
from headrace.graph.stream_graph import StreamGraph
from headrace.metrics._operator_counts import JobListener
from headrace.planner.explain import explain_text, plan_json
from headrace.planner.plan import PlanOptions, plan
from headrace.runners.delivery import Delivery
from headrace.runners.dependencies.declared import (
    Dependencies,
    declared_dependencies,
    is_this_interpreter,
)
from headrace.runners.dependencies.folder import dependencies_folder, working_folder
from headrace.runners.local_job import LocalJob
from headrace.runners.observers import JobObserver
from headrace.runners.signals import default_interrupts, ending_signals, wait_or_cancel
from headrace.runners.ui.start import display_observers, let_command
from headrace.runtime.moved_classes import use_moved_classes
from headrace.runtime.pacing import Pace
from headrace.runtime.program import JobProgram, Settings
from headrace.runtime.queries import queryable_vertices
from headrace.tracebacks import format_error

if TYPE_CHECKING:
    from headrace.runners.spark.tables import SparkTables

DEFAULT_NAME = "Headrace Streaming Job"
_LOCAL_RECORDS_PER_BATCH = 50_000
_RECORDS_PER_TASK = 4_000_000
_BYTES_PER_TASK = 128 << 20
_PRINT_FAILURE_SECONDS = 5.0
_MAX_TARGET_FACTOR = 6
"""A micro-batch with large fixed costs may take this many times its target duration."""


ChooseParallelism = Callable[[int | None], int]
"""Returns the parallelism of a job; is given the one that is configured."""


def _local_cores() -> int:
    return os.cpu_count() or 1


def _configured_or_local_cores(configured: int | None) -> int:
    return configured or _local_cores()


def program_of(
    graph: StreamGraph,
    configuration: Configuration,
    job_name: str | None,
    choose_parallelism: ChooseParallelism = _configured_or_local_cores,
) -> JobProgram:
    """Plan a graph under a configuration.

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
    parallelism = choose_parallelism(options.read(configuration, options.PARALLELISM))
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
        stop_ms=options.read(configuration, options.STOP_TIMEOUT),
        job_parameters=options.read(configuration, options.JOB_PARAMETERS),
        moved_classes=options.read(configuration, options.MOVED_CLASSES),
        accept_bounds=options.read(configuration, options.RESTORE_ACCEPT_BOUNDS),
        drop_partial_matches=options.read(configuration, options.RESTORE_DROP_PARTIAL_MATCHES),
        allow_pickles=options.read(configuration, options.RESTORE_ALLOW_PICKLES),
        log_levels=options.log_levels(configuration.to_dict()),
        queryable=(*options.read(configuration, options.QUERYABLE_STATE),),
        queryable_bytes=options.read(configuration, options.QUERYABLE_BYTES),
        query_share=options.read(configuration, options.QUERY_SHARE),
    )
    use_moved_classes(settings.moved_classes)
    batch = mode == "BATCH" or (mode == "AUTOMATIC" and drain and graph.bounded)
    if options.read(configuration, options.RESTORE_PATH):
        batch = False  # operators of a stream go on with state of a stream, up to the input's end
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
            batch=batch,
            combining=options.read(configuration, options.COMBINING),
            columns=options.read(configuration, options.COLUMNS),
            settings=settings,
        ),
    )
    queryable_vertices(program)  # unknown uids are refused here
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
    dependencies = declared_dependencies(configuration)

    def planned(choose_parallelism: ChooseParallelism) -> JobProgram:
        program = program_of(graph, configuration, job_name, choose_parallelism)
        if _is_on_cluster(configuration) or working_folder(dependencies_folder(dependencies)):
            program = _with_absolute_paths(program)
        return program

    program = planned(_parallelism(configuration, job_name))
    _check_checkpoint_dir(program, configuration, job_name)
    _require_checkpoint_without_drain(program, configuration)
    delivery = Delivery()
    if _is_local(configuration):
        _warn_ignored(configuration)
        _warn_other_interpreter(dependencies)
        if uses_urls(program.locators):
            from headrace.runners.hadoop_files import access_without_spark

            settings = options.spark_settings(configuration.to_dict())
            use_access(access_without_spark(settings, os.environ))
        job: JobHandle = LocalJob(
            program, delivery, dependencies, listeners, observers, configuration
        )
    else:
        from headrace.runners.spark.start import start_on_spark

        job = start_on_spark(
            program,
            delivery,
            configuration,
            dependencies=dependencies,
            listeners=listeners,
            observers=observers,
            replan=lambda parallelism: planned(lambda _: parallelism),
        )
    let_command(shown, job)
    return job


def _parallelism(configuration: Configuration, job_name: str | None) -> ChooseParallelism:
    if _is_local(configuration):
        return _configured_or_local_cores

    def parallelism(configured: int | None) -> int:
        batch = options.read(configuration, options.RUNTIME_MODE) == "BATCH"
        folder = None if batch else _checkpoint_dir(configuration)
        from headrace.runners.spark import start

        name = _name_of(configuration, job_name)
        return start.choose_parallelism(configured, configuration, folder, name)

    return parallelism


def _planned_parallelism(configuration: Configuration) -> ChooseParallelism:
    """Choose the parallelism of a plan that is only shown, without starting a session."""
    if _is_local(configuration):
        return _configured_or_local_cores

    def parallelism(configured: int | None) -> int:
        from headrace.runners.spark.start import running_cores

        return configured or running_cores() or _local_cores()

    return parallelism


def spark_tables(configuration: Configuration | None = None) -> SparkTables:
    """Return the tables of Spark's catalog, of the session that jobs run in.

    ``configuration``: of the session that is started; None: there is one.

    Raises:
        PlanError: jobs run in this process, without Spark.
    """
    given = Configuration() if configuration is None else configuration
    if _is_local(given):
        raise PlanError(
            "Spark's catalog needs Spark, and jobs run in this process",
            hint="do not set execution.target to local",
        )
    from headrace.runners.spark.tables import SparkTables

    return SparkTables(options.spark_settings(given.to_dict()))


def _metric_reporting(configuration: Configuration) -> Sequence[JobObserver]:
    """Return an observer that reports metrics, if reporters are configured."""
    reporters = read_reporters(configuration)
    if not reporters:
        return ()
    from headrace.runners.reporters.reporting import MetricReporting

    return (MetricReporting(reporters),)


def _set_log_levels(levels: Mapping[str, str]) -> None:
    """Set the levels of loggers; without a handler of the program, records go to stderr."""
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
        return  # neither the local runner nor a batch keeps a checkpoint
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
            f"{options.STOP_DRAIN.key} is false, but there is no checkpoint to keep open windows"
            " and timers",
            hint=f"set {options.CHECKPOINT_DIR.key}",
        )


def _warn_ignored(configuration: Configuration) -> None:
    keys = [options.CHECKPOINT_DIR.key, options.RESTART_STRATEGY.key]
    ignored = [key for key in keys if configuration.contains_key(key)]
    if ignored:
        print(f"headrace: the local runner ignores {', '.join(ignored)}", file=sys.stderr)
    if not options.read(configuration, options.STOP_DRAIN):
        print(
            "headrace: the local runner keeps no checkpoint: open windows and timers are lost at"
            " the end",
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
    """Run a job to its end. SIGINT, SIGTERM and SIGHUP cancel it; a second one stops waiting."""
    timeout_s = options.read(configuration, options.STOP_TIMEOUT) / 1000
    with ending_signals(), default_interrupts():
        job = start(graph, configuration, job_name, listeners)
        with default_interrupts():  # the new session may have set PySpark's handler
            return wait_or_cancel(job, timeout_s)


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
    parallelism = _planned_parallelism(configuration)
    return plan_json(graph, program_of(graph, configuration, None, parallelism))


def explain(graph: StreamGraph, configuration: Configuration) -> str:
    """Return the physical plan as text."""
    parallelism = _planned_parallelism(configuration)
    return explain_text(program_of(graph, configuration, None, parallelism))
