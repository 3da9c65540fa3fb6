"""A running job, seen from the program that started it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Protocol

from headrace.common._unsupported import unsupported_method
from headrace.common.completable_future import CompletableFuture
from headrace.common.job_execution_result import JobExecutionResult
from headrace.common.job_id import JobID
from headrace.common.job_status import JobStatus

__all__ = ["JobClient", "JobHandle"]


class JobHandle(Protocol):
    """What a runner gives for a job it has started; called from any thread."""

    @property
    def job_id(self) -> JobID:
        """The id of the run."""

    def status(self) -> JobStatus:
        """Where the job stands now."""

    def cancel(self) -> None:
        """Stop the job and wait for its end. A job that is over stays as it is."""

    def wait(self) -> JobExecutionResult:
        """Wait for the end of the job; raises what it failed with."""

    def accumulators(self) -> Mapping[str, Any]:
        """The accumulators so far."""


class JobClient:
    """Watches and stops one job."""

    trigger_savepoint = unsupported_method("there are no savepoints")
    stop_with_savepoint = unsupported_method("there are no savepoints")

    def __init__(self, handle: JobHandle) -> None:
        self._handle = handle
        self._lock = threading.Lock()
        self._end: CompletableFuture[JobExecutionResult] | None = None

    def get_job_id(self) -> JobID:
        """The id of the run."""
        return self._handle.job_id

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Where the job stands."""
        return CompletableFuture.of(self._handle.status)

    def cancel(self) -> CompletableFuture[None]:
        """Stop the job; done once it is over."""
        return CompletableFuture.run_in_thread(self._handle.cancel)

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """The accumulators so far, by name."""
        return CompletableFuture.of(lambda: dict(self._handle.accumulators()))

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """The result, done at the end of the job; the same future at every call."""
        with self._lock:
            if self._end is None:
                self._end = CompletableFuture.run_in_thread(self._handle.wait)
            return self._end

    def is_waited_for(self) -> bool:
        """Whether somebody waits for the job's end, or has, and so is given what it raises."""
        return self._end is not None and self._end.is_waited_for()
