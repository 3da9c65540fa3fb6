"""A job of the local runner."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from types import TracebackType
from typing import Any
from urllib.parse import quote

from headrace.common._options import catalogue as options
from headrace.common._storage.pickles import only_data
from headrace.common.configuration import Configuration
from headrace.common.job_client import StateAnswer
from headrace.common.job_execution_result import JobExecutionResult
from headrace.common.job_id import JobID
from headrace.common.job_status import JobStatus
from headrace.errors import HeadraceError, JobError, StateQueryError
from headrace.metrics._operator_counts import JobListener
from headrace.runners.clock import wall_clock_ms
from headrace.runners.delivery import Delivery
from headrace.runners.dependencies import activation
from headrace.runners.dependencies.declared import Dependencies
from headrace.runners.dependencies.folder import dependencies_folder
from headrace.runners.job_graph import job_graph
from headrace.runners.job_thread import JobThread
from headrace.runners.local import LocalRun
from headrace.runners.observers import (
    JobInfo,
    JobObserver,
    Observers,
    SaveFailed,
    SavepointTaken,
    Slots,
)
from headrace.runners.stop import Stop, StopRequest
from headrace.runners.subtasks import OperatorMetrics, metrics_by_subtask
from headrace.runtime.failure import to_job_failure
from headrace.runtime.program import JobProgram
from headrace.runtime.queries import (
    internal_keys,
    queryable_vertex,
    queryable_vertices,
)
from headrace.tracebacks import trim_tracebacks

Query = tuple[str, str, Sequence[Any]]
"""The uid of an operator, the name of a state, and keys."""


class LocalJob:
    """A job of the local runner, in its own thread; a ``JobHandle``."""

    def __init__(
        self,
        program: JobProgram,
        delivery: Delivery,
        dependencies: Dependencies | None = None,
        listeners: Sequence[JobListener] = (),
        observers: Sequence[JobObserver] = (),
        configuration: Configuration | None = None,
    ) -> None:
        self.job_id = JobID(program.run_id)
        self.delivery = delivery
        configuration = configuration or Configuration()
        self._savepoint_dir = options.read(configuration, options.SAVEPOINT_DIR)
        self._stop = StopRequest()
        self._savepoints: queue.Queue[Stop] = queue.Queue()
        self._queries: queue.Queue[tuple[Future[StateAnswer], Query]] = queue.Queue()
        self._vertices = queryable_vertices(program)
        dependencies = dependencies or Dependencies()
        activation.activate(str(dependencies_folder(dependencies) or ""), dependencies.worker_path)
        try:
            self._observers = Observers(observers)
            path = options.read(configuration, options.RESTORE_PATH)
            savepoint = None
            if path:
                from headrace.runtime.savepoint.folder import StoredSavepoint  # imports pyarrow

                savepoint = StoredSavepoint(path)
                identity = savepoint.manifest.offset["program"]
                program = program.as_successor_of(identity, copied=True)
            self._run = LocalRun(program, delivery, listeners=listeners, observers=self._observers)
            if savepoint is not None:
                ignore = options.read(configuration, options.IGNORE_UNCLAIMED_STATE)
                with only_data(not program.settings.allow_pickles):
                    self._run.restore(savepoint, ignore)
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
        self._thread = JobThread(self._run_job)

    def _run_job(self) -> None:
        try:
            self._run.run(self._cancelled.is_set, self._between_batches, self._save_at_stop)
            cancelled = self._cancelled.is_set() and self._stop.close() is None
            self._status = JobStatus.CANCELED if cancelled else JobStatus.FINISHED
        except BaseException as error:
            self._failure = trim_tracebacks(to_job_failure(error))
            self._trace = self._failure.__traceback__
            self._status = JobStatus.FAILED
            self._observers.failure(self._failure, None)
        finally:
            self._net_runtime_ms = round((time.monotonic() - self._started) * 1000)
            self._observers.end(self._status)
            ended = JobError("the job ended before a savepoint was taken")
            stop = self._stop.close()
            if stop is not None:
                stop.end(self._failure)
            while not self._savepoints.empty():
                self._savepoints.get().end(ended)
            self._refuse_queries()
            activation.deactivate()
            self.delivery.close()

    def _between_batches(self) -> None:
        self._save_if_requested()
        while not self._queries.empty():
            answer, (uid, name, keys) = self._queries.get()
            try:
                id_ = queryable_vertex(self._vertices, uid).id
                answer.set_result(self._run.query_state(id_, uid, name, internal_keys(keys)))
            except Exception as error:
                answer.set_exception(error)

    def _refuse_queries(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                self._queries.get_nowait()[0].set_exception(StateQueryError("the job has ended"))

    def _save_if_requested(self) -> None:
        while not self._savepoints.empty():
            request = self._savepoints.get()
            try:
                self._save(request)
            except (HeadraceError, OSError) as error:
                request.end(error)
            else:
                request.end(None)

    def _save_at_stop(self) -> None:
        stop = self._stop.close()
        if stop is None:
            return
        if stop.drain:
            self._run.drain()
        self._save(stop)

    def _save(self, request: Stop) -> None:
        from headrace.runtime.savepoint.folder import write_savepoint  # imports pyarrow

        assert request.target is not None, "a local job is only stopped with a savepoint"
        began, started_ms = time.monotonic(), wall_clock_ms()
        try:
            savepoint = self._run.savepoint()
            savepoint.manifest = replace(savepoint.manifest, created_ms=started_ms)
            manifest = write_savepoint(savepoint, request.target)
        except Exception as error:
            failed = SaveFailed(error, request.target, started_ms, wall_clock_ms())
            self._observers.save_failed(failed)
            raise
        duration_ms = (time.monotonic() - began) * 1000
        pause_ms = 0 if self._cancelled.is_set() else round(duration_ms)
        last_batch, size_bytes = manifest.batch_id - 1, manifest.size_bytes
        self._observers.savepoint(
            SavepointTaken(
                request.target, last_batch, started_ms, duration_ms, size_bytes, pause_ms
            )
        )

    def savepoint(self, folder: str | None) -> Callable[[], str]:
        """Request a savepoint between two micro-batches; its folder is below ``folder``."""
        target = self._savepoint_target(folder)
        request = Stop(target)
        self._savepoints.put(request)
        if self._status.is_globally_terminal_state():
            request.end(JobError("the job has ended"))
        return request.wait

    def stop_with_savepoint(self, folder: str | None, drain: bool) -> Callable[[], str]:
        """Request a stop with a savepoint; its folder is below ``folder``."""
        stop = Stop(self._savepoint_target(folder), drain)
        self._stop.accept(stop)
        self._cancelled.set()
        return stop.wait

    def _savepoint_target(self, folder: str | None) -> str:
        from headrace.runners.savepoint_folders import new_savepoint_folder  # imports pyarrow

        job_folder = quote(self._run.program.name, safe="")
        return new_savepoint_folder(folder or self._savepoint_dir, job_folder)

    def status(self) -> JobStatus:
        """Return the job's status."""
        return self._status

    def cancel(self, *, final: bool = False) -> None:
        """Cancel the job and wait for its end; it has no checkpoint to remove."""
        self._cancelled.set()
        self._thread.wait()

    def wait(self) -> JobExecutionResult:
        """Wait for the job's end. Raises the exception that it failed with."""
        self._thread.wait()
        if self._failure is not None:
            raise self._failure.with_traceback(self._trace)
        return JobExecutionResult(self.job_id, self._net_runtime_ms, self.accumulators())

    def query_state(self, uid: str, name: str, keys: Sequence[Any]) -> StateAnswer:
        """Return the state of keys after a micro-batch, for which it waits."""
        answer: Future[StateAnswer] = Future()
        self._queries.put((answer, (uid, name, keys)))
        if self._status.is_globally_terminal_state():
            self._refuse_queries()
        return answer.result()

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
        find_slots=lambda: Slots(1, 1),
    )
