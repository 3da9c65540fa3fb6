"""``JobClient``: controls a running job from the program that started it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from headrace.common.completable_future import CompletableFuture
from headrace.common.job_execution_result import JobExecutionResult
from headrace.common.job_id import JobID
from headrace.common.job_status import JobStatus

__all__ = ["JobClient", "JobHandle", "StateAnswer"]


class StateAnswer(NamedTuple):
    """The answer to a query of state.

    ``micro_batch``: the number of the committed micro-batch after which all values were so; -1
    before the first. ``values``: one for each key, in order; None: the key has no such state. The
    state of a list is a list, that of a map a dict, and that of an aggregation its accumulator.
    """

    micro_batch: int
    values: list[Any]


class JobHandle(Protocol):
    """A runner's control over a job that it started. Methods may be called from any thread."""

    @property
    def job_id(self) -> JobID:
        """The id of the run."""

    def status(self) -> JobStatus:
        """Return the current status of the job."""

    def cancel(self, *, final: bool = False) -> None:
        """Stop the job and wait for its end; no effect on a job that has ended.

        ``final``: the job is not to be started again, so its checkpoint may be removed
        (``execution.checkpointing.externalized-checkpoint-retention``).
        """

    def wait(self) -> JobExecutionResult:
        """Wait for the end of the job; raise its error if it failed."""

    def savepoint(self, folder: str | None) -> Callable[[], str]:
        """Request a savepoint below ``folder``; what is returned waits for its own folder."""

    def stop_with_savepoint(self, folder: str | None, drain: bool) -> Callable[[], str]:
        """Request a stop with a savepoint; what is returned waits for the savepoint's folder."""

    def query_state(self, uid: str, name: str, keys: Sequence[Any]) -> StateAnswer:
        """Return the state of keys after the last committed micro-batch."""

    def accumulators(self) -> Mapping[str, Any]:
        """Return the current values of the accumulators, by name."""

    def metrics(self) -> Mapping[str, Mapping[int, Mapping[str, int | float]]]:
        """Return the metrics of committed micro-batches, by operator id, subtask and name."""


class JobClient:
    """Controls one job: its status, its accumulators, its result, and its cancellation."""

    def __init__(self, handle: JobHandle) -> None:
        self._handle = handle
        self._lock = threading.Lock()
        self._end: CompletableFuture[JobExecutionResult] | None = None

    def get_job_id(self) -> JobID:
        """Return the id of the run."""
        return self._handle.job_id

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Return a future with the current status of the job."""
        return CompletableFuture.of(self._handle.status)

    def cancel(self) -> CompletableFuture[None]:
        """Stop the job; the future is done when the job has ended."""
        return CompletableFuture.run_in_thread(lambda: self._handle.cancel(final=True))

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Take a savepoint while the job runs; the future has the savepoint's folder.

        Args:
            savepoint_directory: the folder below which it is written; by default
                ``execution.checkpointing.savepoint-dir``.

        The future fails with a ``HeadraceError`` if the job has no savepoints (it is a batch, or
        reads a streaming DataFrame), has ended, or the storage fails. The job goes on.
        """
        return _requested(lambda: self._handle.savepoint(savepoint_directory))

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        """Stop the job with a savepoint; the future has the savepoint's folder.

        When this returns, the job knows that it has to stop after its micro-batch.

        Args:
            advance_to_end_of_event_time: end event time before, so that all windows and timers
                fire. A job cannot go on from such a savepoint: it has ended.
            savepoint_directory: as of ``trigger_savepoint``.

        The future fails as that of ``trigger_savepoint``. If the savepoint cannot be written, the
        job has stopped all the same, and continues from its checkpoint when it is started again.
        """
        drain = advance_to_end_of_event_time
        return _requested(lambda: self._handle.stop_with_savepoint(savepoint_directory, drain))

    def query_state(
        self, uid: str, name: str, keys: Sequence[Any]
    ) -> CompletableFuture[StateAnswer]:
        """Return a future with the state of keys, while the job runs.

        All values of an answer are of one micro-batch, the last committed one.

        Args:
            uid: the operator's, which ``headrace.state.queryable`` must name.
            name: that of the state, as in its descriptor.
            keys: at most 1,000, as the program has them.

        The future fails with a ``ConfigurationError`` if the operator is not named there or has no
        such state, an ``UnsupportedError`` if the job is a batch or it is state of windows, a
        ``QueryBudgetError`` if queries take more than ``headrace.state.query-share`` of a core, and
        a ``StateQueryError`` if there are too many keys, the job has not started or has ended, or
        the state is larger than ``headrace.state.queryable-memory``.
        """
        return CompletableFuture.of(lambda: self._handle.query_state(uid, name, keys))

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """Return a future with the current values of the accumulators, by name."""
        return CompletableFuture.of(lambda: dict(self._handle.accumulators()))

    def get_metrics(self) -> CompletableFuture[dict[str, dict[int, dict[str, int | float]]]]:
        """Return a future with the metrics of operators: those of the engine, and of functions.

        They are by the operator's id (its uid, if it has one), its subtask, and the metric's name
        with its groups: ``metrics["parse"][0]["numRecordsIn"]``. Only committed records count.
        """
        return CompletableFuture.of(
            lambda: {
                operator: {subtask: dict(named) for subtask, named in found.items()}
                for operator, found in self._handle.metrics().items()
            }
        )

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """Return a future that is done when the job has ended; each call returns the same one.

        Its ``result()`` raises the job's error if the job failed.
        """
        with self._lock:
            if self._end is None:
                self._end = CompletableFuture.run_in_thread(self._handle.wait)
            return self._end

    def is_waited_for(self) -> bool:
        """Return whether a caller waits or waited for the result, and so sees the job's error."""
        return self._end is not None and self._end.is_waited_for()


def _requested(request: Callable[[], Callable[[], str]]) -> CompletableFuture[str]:
    """Request something now; return a future for what is waited for in a thread."""
    requested = CompletableFuture.of(request)
    return CompletableFuture.run_in_thread(lambda: requested.result()())
