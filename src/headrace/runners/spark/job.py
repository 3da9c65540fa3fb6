"""A job on Spark: its thread, its attempts, and its ``JobHandle``."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from pyspark.sql import SparkSession

from headrace.common._storage.locations import LOCAL_ONLY, StorageAccess
from headrace.common.job_execution_result import JobExecutionResult
from headrace.common.job_id import JobID
from headrace.common.job_status import JobStatus
from headrace.errors import CheckpointError, PlanError, SparkEndedError, UnsupportedError
from headrace.metrics._operator_counts import JobListener
from headrace.runners.clock import monotonic_ms, wall_clock_ms
from headrace.runners.delivery import Delivery
from headrace.runners.dependencies import activation
from headrace.runners.job_graph import job_graph
from headrace.runners.observers import JobInfo, JobObserver, Observers
from headrace.runners.restarts import RestartStrategy
from headrace.runners.sinks import has_committer, make_committer
from headrace.runners.spark.attempt import Attempt
from headrace.runners.spark.checkpoint.checkpoint import Checkpoint, commit_of
from headrace.runners.spark.link import DriverLink
from headrace.runners.spark.modules import dumps, is_local, worker_module_folders
from headrace.runners.spark.query.driver_plan import PlanFolder
from headrace.runners.spark.query.shipped_dependencies import NO_DEPENDENCIES, ShippedDependencies
from headrace.runners.spark.query.worker import ProgramRef
from headrace.runners.spark.reports import Reports
from headrace.runners.spark.startup.session import activate
from headrace.runners.spark.startup.storage import TokenWatch, use_storage
from headrace.runners.spark.worker_warnings import WarningForwarder
from headrace.runners.subtasks import OperatorMetrics
from headrace.runners.temporary_files import keep_log
from headrace.runtime.failure import sink_error_notes, to_job_failure
from headrace.runtime.program import JobProgram
from headrace.tracebacks import trim_tracebacks

_NO_BATCH = -1


class SparkJob:
    """One run of a program on Spark, started by the constructor; a ``JobHandle``."""

    def __init__(
        self,
        spark: SparkSession,
        program: JobProgram,
        checkpoint: Checkpoint,
        delivery: Delivery,
        restarts: RestartStrategy,
        listeners: Sequence[JobListener] = (),
        dependencies: ShippedDependencies = NO_DEPENDENCIES,
        storage: StorageAccess = LOCAL_ONLY,
        observers: Sequence[JobObserver] = (),
    ) -> None:
        self.job_id = JobID(program.run_id)
        self.delivery = delivery
        self._spark, self._program, self._checkpoint = spark, program, checkpoint
        self._restarts = restarts
        self._storage = storage
        self._observers = Observers(observers)
        self._status = JobStatus.CREATED
        self._failure: BaseException | None = None
        self._trace: TracebackType | None = None
        self._cancelled = threading.Event()
        self._started = time.monotonic()
        self._net_runtime_ms = 0
        folders = worker_module_folders(spark)
        self._dependencies, provided = (
            dependencies,
            activation.module_path_entries(dependencies.driver_folder),
        )
        self._plans = PlanFolder(
            program, lambda unpickled: dumps(unpickled, folders, None, provided)
        )
        self._warning_forwarder = WarningForwarder(self._plans.warnings_file)
        self._reports = Reports(
            program,
            delivery,
            listeners,
            self._observers,
            self._plans.planned_file,
            self._warning_forwarder.show,
            self._plans.reading_ms_file if program.may_read_in_fewer_tasks else None,
        )
        self._link = DriverLink(self._reports.receive)
        staying = [source.source for source in program.sources]
        self._data = dumps(program.for_workers(), folders, staying, provided)
        self._for_replay = b""
        if program.settings.capture_dir:
            used = program.connectors
            self._for_replay = dumps(program.for_replay(), folders, used, provided, secrets=False)
        if self._observers:
            self._observers.start(self._info())
        self._thread = threading.Thread(target=self._run, name="headrace-job", daemon=True)
        self._thread.start()

    # The methods of a JobHandle.

    def status(self) -> JobStatus:
        """Return the job's status."""
        return self._status

    def cancel(self) -> None:
        """Cancel the job and wait for its end."""
        self._cancelled.set()  # the run's thread checks it, and stops the query
        if self._program.batch:
            # In another thread: py4j logs a Ctrl-C that interrupts a call into the JVM.
            stop = self._spark.sparkContext.cancelJobGroup
            threading.Thread(target=stop, args=(str(self.job_id),), daemon=True).start()
        self._thread.join()

    def wait(self) -> JobExecutionResult:
        """Wait for the job's end.

        Raises:
            JobError: it failed, and not in the user's code; otherwise the user's own exception.
        """
        self._thread.join()
        if self._failure is not None:
            raise self._failure.with_traceback(self._trace)
        return JobExecutionResult(self.job_id, self._net_runtime_ms, self.accumulators())

    def accumulators(self) -> Mapping[str, Any]:
        """Return the current counters, the watermark (ms) and the number of micro-batches."""
        return self._reports.accumulators()

    def metrics(self) -> OperatorMetrics:
        """Return the current metrics by operator and subtask."""
        return self._reports.metrics()

    def _info(self) -> JobInfo:
        program, context = self._program, self._spark.sparkContext
        kept = None if program.batch else self._checkpoint.directory
        return JobInfo(
            job_id=str(self.job_id),
            name=program.name,
            runner="spark",
            location=context.master or "",
            cores=context.defaultParallelism,
            checkpoint=kept,
            started_ms=wall_clock_ms(),
            graph=job_graph(program),
            program=program,
        )

    # The run.

    def _run(self) -> None:
        try:
            activate(self._spark)
            self._run_until_it_ends()
            if self._link.failure is not None:
                raise self._link.failure
            self._finish_sinks()
            self._status = JobStatus.CANCELED if self._cancelled.is_set() else JobStatus.FINISHED
        except BaseException as error:
            if self._cancelled.is_set():
                self._status = JobStatus.CANCELED
            else:
                keep_log()
                self._failure = trim_tracebacks(to_job_failure(error))
                self._trace = self._failure.__traceback__
                self._status = JobStatus.FAILED
                self._observers.failure(self._failure, None)
        finally:
            self._net_runtime_ms = round((time.monotonic() - self._started) * 1000)
            self._observers.end(self._status)
            self._link.close()
            self._warning_forwarder.close()
            self._plans.remove()
            self._checkpoint.close()
            self.delivery.close()

    def _run_until_it_ends(self) -> None:
        """Run attempts, each from the checkpoint, as the restart strategy allows."""
        number, run_id = 0, self._program.run_id
        while True:
            self._status = JobStatus.RUNNING
            try:
                if not self._run_attempt(number, run_id):
                    return
                number += 1
                print(
                    f"headrace: {self._program.name!r} goes on with new delegation tokens of HDFS",
                    file=sys.stderr,
                )
            except (PlanError, CheckpointError, UnsupportedError, SparkEndedError):
                raise  # it would fail again
            except Exception as error:
                delay_ms = self._restarts.delay_ms(monotonic_ms())
                lost = self._link.failure is not None  # delivered records cannot be repeated
                if delay_ms is None or lost or self._cancelled.is_set():
                    raise
                number += 1
                self._observers.failure(error, delay_ms)
                print(
                    f"headrace: {self._program.name!r} failed and begins again in"
                    f" {delay_ms / 1000:g} s (restart {number}):"
                    f" {type(error).__name__}: {error}",
                    file=sys.stderr,
                )
                self._status = JobStatus.RESTARTING
                if self._cancelled.wait(delay_ms / 1000):
                    return
            # With a new run id, workers open the operators again.
            run_id = f"{self._program.run_id}-{number}"
            if self._storage is not LOCAL_ONLY:
                self._storage = use_storage(self._spark)
            self._checkpoint.transfer_to_run(run_id)

    def _run_attempt(self, number: int, run_id: str) -> bool:
        """Run an attempt, and return whether another one must go on with new tokens."""
        attempt = self._new_attempt(number, run_id)
        try:
            attempt.run()
            return attempt.outdated and not self._checkpoint.finished
        finally:
            self._reports.observe_all()

    def _new_attempt(self, attempt_number: int, run_id: str) -> Attempt:
        program = self._program
        return Attempt(
            self._spark,
            program,
            ProgramRef(
                *(run_id, self._data, self._dependencies, self._for_replay),
                warnings_file=self._plans.warnings_file
                if is_local(self._spark.sparkContext.master or "")
                else None,
                storage=self._storage,
            ),
            self._checkpoint,
            self._plans,
            self._link,
            self._reports,
            name=f"{program.name}-{program.run_id[:8]}-{attempt_number}",
            group=str(self.job_id),
            show_output=self._warning_forwarder.show,
            cancelled=self._cancelled,
            is_outdated=TokenWatch(self._spark, self._storage).has_new_tokens,
        )

    def _finish_sinks(self) -> None:
        if self._cancelled.is_set() or (not self._program.batch and self._checkpoint.suspended):
            return
        with commit_of(self._checkpoint.folder, self._checkpoint.owner, _NO_BATCH):
            for sink in self._program.sinks:
                if has_committer(sink):
                    with sink_error_notes(sink, "publishing its pending data"):
                        make_committer(self._program, sink).finish()
