"""A job on Spark: its thread, its attempts, and its ``JobHandle``."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from pyspark.sql import SparkSession

from headrace.common._storage.locations import LOCAL_ONLY, StorageAccess
from headrace.common.job_client import StateAnswer
from headrace.common.job_execution_result import JobExecutionResult
from headrace.common.job_id import JobID
from headrace.common.job_status import JobStatus
from headrace.errors import HeadraceError, StateQueryError, UnsupportedError
from headrace.metrics._operator_counts import JobListener
from headrace.runners.clock import monotonic_ms, wall_clock_ms
from headrace.runners.delivery import Delivery
from headrace.runners.dependencies import activation
from headrace.runners.job_graph import job_graph
from headrace.runners.job_thread import JobThread
from headrace.runners.observers import JobInfo, JobObserver, Observers, SavepointTaken, Slots
from headrace.runners.restarts import RestartStrategy, would_fail_again
from headrace.runners.retention import RemovesCheckpoint, Retention
from headrace.runners.savepoint_folders import dispose_savepoint, is_savepoint
from headrace.runners.sinks import has_committer, make_committer
from headrace.runners.spark.attempt import Attempt
from headrace.runners.spark.checkpoint.checkpoint import Checkpoint, commit_of
from headrace.runners.spark.link import DriverLink
from headrace.runners.spark.modules import dumps, is_local, program_data, worker_module_folders
from headrace.runners.spark.periodic import Periodic
from headrace.runners.spark.queried import QueriedState
from headrace.runners.spark.query.driver_plan import PlanFolder
from headrace.runners.spark.query.shipped_dependencies import NO_DEPENDENCIES, ShippedDependencies
from headrace.runners.spark.query.worker import ProgramRef
from headrace.runners.spark.reports import Reports
from headrace.runners.spark.rescaling import Rescaler
from headrace.runners.spark.retainer import (
    SavepointSchedule,
    keep_restore_points,
    take_savepoints,
)
from headrace.runners.spark.saver import RequestWatch, Saver
from headrace.runners.spark.startup.session import activate
from headrace.runners.spark.startup.storage import TokenWatch, use_storage
from headrace.runners.spark.worker_warnings import WarningForwarder
from headrace.runners.stop import Stop, StopRequest
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
        savepoint_dir: str | None = None,
        retention: Retention | None = None,
        schedule: SavepointSchedule | None = None,
        removes_checkpoint: RemovesCheckpoint = RemovesCheckpoint.NEVER,
        claims_savepoint: bool = False,
        rescaled: Callable[[int], JobProgram] | None = None,
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
        self._stop = StopRequest()
        self._rescaler = Rescaler(checkpoint, program, rescaled)
        self._programs: dict[int, tuple[JobProgram, ProgramRef]] = {}
        self._requests: RequestWatch | None = None
        self._periodic: list[Periodic] = []
        self._removes_checkpoint = removes_checkpoint
        self._claims_savepoint = claims_savepoint
        self._discarded = False
        self._attempt_failure: BaseException | None = None
        self._started = time.monotonic()
        self._net_runtime_ms = 0
        self._slots: Slots | None = None
        self._dependencies = dependencies
        self._module_folders = folders = worker_module_folders(spark)
        self._provided = provided = activation.module_path_entries(dependencies.driver_folder)
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
        settings = program.settings
        self._queried = QueriedState(program, settings.queryable_bytes, settings.query_share)
        self._link = DriverLink(self._reports.receive, self._queried.receive)
        self._pickle_program()
        self._saver = Saver(
            spark,
            program,
            checkpoint,
            self._plans.pins,
            self._programs.__getitem__,
            lambda: self._status.is_globally_terminal_state(),
            savepoint_dir,
            self._observers.savepoint,
            self._observers.save_failed,
        )
        if self._observers:
            self._observers.start(self._info())
        if not program.batch and not checkpoint.temporary:
            self._requests = RequestWatch(self, checkpoint)
            if retention is not None:
                self._periodic.append(
                    keep_restore_points(
                        self._saver, checkpoint.folder, retention, self._fail_attempt
                    )
                )
        if schedule is not None:
            self._periodic.append(take_savepoints(self._saver, checkpoint, schedule))
        self._thread = JobThread(self._run)

    # The methods of a JobHandle.

    def status(self) -> JobStatus:
        """Return the job's status."""
        return self._status

    def cancel(self, *, final: bool = False) -> None:
        """Cancel the job and wait for its end; ``final``: it is not to be started again."""
        self._discarded = final and self._removes_checkpoint is not RemovesCheckpoint.NEVER
        self._cancelled.set()  # the run's thread checks it, and stops the query
        if self._program.batch:
            # In another thread, because py4j logs a Ctrl-C that interrupts a call to the JVM.
            stop = self._spark.sparkContext.cancelJobGroup
            threading.Thread(target=stop, args=(str(self.job_id),), daemon=True).start()
        self._thread.wait()

    def wait(self) -> JobExecutionResult:
        """Wait for the job's end.

        Raises:
            JobError: it failed, and not in the user's code; otherwise the user's own exception.
        """
        self._thread.wait()
        if self._failure is not None:
            raise self._failure.with_traceback(self._trace)
        return JobExecutionResult(self.job_id, self._net_runtime_ms, self.accumulators())

    def accumulators(self) -> Mapping[str, Any]:
        """Return the current counters, the watermark (ms) and the number of micro-batches."""
        return self._reports.accumulators()

    def metrics(self) -> OperatorMetrics:
        """Return the current metrics by operator and subtask."""
        return self._reports.metrics()

    def query_state(self, uid: str, name: str, keys: Sequence[Any]) -> StateAnswer:
        """Return the state of keys after the last committed micro-batch.

        Raises: as ``QueriedState.query``; UnsupportedError if the job is a batch.
        """
        if self._program.batch:
            raise UnsupportedError(
                "a batch has no state that could be queried",
                hint="run it in streaming mode (execution.runtime-mode: STREAMING)",
            )
        if self._status.is_globally_terminal_state():
            raise StateQueryError("the job has ended", hint="read its checkpoint (headrace.state)")
        return self._queried.query(uid, name, keys)

    # Savepoints.

    def savepoint(self, folder: str | None) -> Callable[[], str]:
        """Return a function that takes a savepoint while the job runs, and returns its folder."""
        target = self.savepoint_target(folder)

        def take() -> str:
            self.save(target)
            return target

        return take

    def stop_with_savepoint(self, folder: str | None, drain: bool) -> Callable[[], str]:
        """Request a stop with a savepoint below ``folder``; what is returned waits for its folder.

        ``drain``: event time ends before, so that windows and timers fire.
        """
        stop = Stop(self.savepoint_target(folder), drain)
        self.request_stop(stop)
        return stop.wait

    def savepoint_target(self, folder: str | None) -> str:
        """Return the folder of a new savepoint, below ``folder`` or the configured one."""
        if self._program.batch:
            raise UnsupportedError(
                "a batch has no savepoints: it has no state between micro-batches",
                hint="run it in streaming mode (execution.runtime-mode: STREAMING)",
            )
        return self._saver.target(folder)

    def save(self, target: str) -> SavepointTaken:
        """Write a savepoint to a folder while the job runs."""
        return self._saver.take(target)

    def request_stop(self, stop: Stop) -> None:
        """Stop the job after its micro-batch; a job that has ended or stops is refused."""
        self._stop.accept(stop)
        self._cancelled.set()

    def rescale(self, parallelism: int) -> None:
        """Give the job another parallelism, and wait until it runs with it.

        Raises: as ``Rescaler.rescale``.
        """
        self._rescaler.rescale(parallelism)

    def _continue_with(self, program: JobProgram) -> None:
        """Run another plan of the program from the next attempt on."""
        self._program = program
        self._reports.continue_with(program)
        self._plans.write_program(program)
        self._pickle_program()

    def _pickle_program(self) -> None:
        program = self._program
        self._data = program_data(self._spark, program, self._dependencies)
        self._for_replay = b""
        if program.settings.capture_dir:
            self._for_replay = dumps(
                program.for_replay(),
                self._module_folders,
                program.connectors,
                self._provided,
                secrets=False,
            )

    def _on_taken_over(self) -> None:
        """Act when the checkpoint needs no older state any more."""
        self._rescaler.on_taken_over()
        self._remove_claimed_savepoint()

    def _remove_claimed_savepoint(self) -> None:
        """Remove the savepoint that the job began from, if it belongs to the job."""
        folder = self._checkpoint.restored_from
        if not self._claims_savepoint or not folder or not is_savepoint(folder):
            return
        try:
            dispose_savepoint(folder)
        except (HeadraceError, OSError) as error:
            print(f"headrace: the savepoint {folder} was not removed: {error}", file=sys.stderr)

    def _fail_attempt(self, error: BaseException) -> None:
        """Fail the current attempt; the restart strategy says whether another one follows."""
        self._attempt_failure = error

    def _take_failure(self) -> BaseException | None:
        failure, self._attempt_failure = self._attempt_failure, None
        return failure

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
            find_slots=lambda: self._slots,
            has_open_batch=self._reports.has_open_batch,
        )

    def _set_slots(self, slots: Slots | None) -> None:
        if slots is not None:
            self._slots = slots

    # The run.

    def _run(self) -> None:
        stop_error: BaseException | None = None
        try:
            activate(self._spark)
            self._run_until_it_ends()
            if self._link.failure is not None:
                raise self._link.failure
            stop = self._stop.close()
            if not self._cancelled.is_set() or (stop is not None and stop.drain):
                self._finish_sinks()
            if stop is not None and stop.target is not None:
                self._saver.take_stopped(stop.target)
            cancelled = self._cancelled.is_set() and stop is None
            self._status = JobStatus.CANCELED if cancelled else JobStatus.FINISHED
            at_end = self._removes_checkpoint is RemovesCheckpoint.AT_END
            if self._discarded or (at_end and not self._cancelled.is_set()):
                self._checkpoint.discard()
        except BaseException as error:
            stop_error = error
            if self._cancelled.is_set() and self._stop.close() is None:
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
            for periodic in self._periodic:
                periodic.close()
            self._link.close()
            self._warning_forwarder.close()
            self._plans.remove()
            stop = self._stop.close()
            self._rescaler.close()
            if self._requests is not None:
                self._requests.close(stop, stop_error)
            self._checkpoint.close()
            self.delivery.close()
            if stop is not None:
                stop.end(stop_error)

    def _run_until_it_ends(self) -> None:
        """Run attempts, each from the checkpoint, as the restart strategy allows."""
        number, run_id = 0, self._program.run_id
        while True:
            self._status = JobStatus.RUNNING
            try:
                if number:
                    self._begin_anew(run_id)
                rescaled = self._rescaler.before_attempt()
                if rescaled is not None:
                    self._continue_with(rescaled)
                if not self._run_attempt(number, run_id):
                    return
                number += 1
                if not self._rescaler.is_due:
                    print(
                        f"headrace: {self._program.name!r} continues with new delegation tokens of"
                        " HDFS",
                        file=sys.stderr,
                    )
            except Exception as error:
                if would_fail_again(error):
                    raise
                delay_ms = self._restarts.delay_ms(monotonic_ms())
                lost = self._link.failure is not None  # delivered records cannot be repeated
                if delay_ms is None or lost or self._cancelled.is_set():
                    raise
                number += 1
                self._observers.failure(error, delay_ms)
                self._checkpoint.record_restart(False, f"{type(error).__name__}: {error}")
                print(
                    f"headrace: {self._program.name!r} failed and restarts in"
                    f" {delay_ms / 1000:g} s (restart {number}):"
                    f" {type(error).__name__}: {error}",
                    file=sys.stderr,
                )
                self._status = JobStatus.RESTARTING
                if self._cancelled.wait(delay_ms / 1000):
                    return
            # With a new run id, workers open the operators again.
            run_id = f"{self._program.run_id}-{number}"

    def _begin_anew(self, run_id: str) -> None:
        """Acquire storage and checkpoint for another attempt."""
        if self._storage is not LOCAL_ONLY:
            self._storage = use_storage(self._spark)
        self._checkpoint.transfer_to_run(run_id)

    def _run_attempt(self, number: int, run_id: str) -> bool:
        """Run an attempt; return whether another attempt must continue with new tokens."""
        attempt = self._new_attempt(number, run_id)
        try:
            attempt.run()
            return attempt.outdated and not self._checkpoint.finished
        finally:
            self._reports.observe_all()

    def _program_ref(self, run_id: str) -> ProgramRef:
        return ProgramRef(
            *(run_id, self._data, self._dependencies, self._for_replay),
            warnings_file=self._plans.warnings_file
            if is_local(self._spark.sparkContext.master or "")
            else None,
            storage=self._storage,
        )

    def _new_attempt(self, attempt_number: int, run_id: str) -> Attempt:
        program = self._program
        ref = self._program_ref(run_id)
        self._programs[self._checkpoint.generation.number] = program, ref
        tokens = TokenWatch(self._spark, self._storage)
        return Attempt(
            self._spark,
            program,
            ref,
            self._checkpoint,
            self._plans,
            self._link,
            self._reports,
            name=f"{program.name}-{program.run_id[:8]}-{attempt_number}",
            group=str(self.job_id),
            queried=self._queried,
            show_output=self._warning_forwarder.show,
            cancelled=self._cancelled,
            is_outdated=tokens.has_new_tokens,
            must_rescale=lambda: self._rescaler.is_due,
            stop=lambda: self._stop.accepted,
            take_failure=self._take_failure,
            on_slots=self._set_slots,
            on_taken_over=self._on_taken_over,
        )

    def _finish_sinks(self) -> None:
        if not self._program.batch and self._checkpoint.suspended:
            return
        with commit_of(self._checkpoint.folder, self._checkpoint.owner, _NO_BATCH):
            for sink in self._program.sinks:
                if has_committer(sink):
                    with sink_error_notes(sink, "publishing its pending data"):
                        make_committer(self._program, sink).finish()
