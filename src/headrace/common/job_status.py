"""``JobStatus``: the states of a job."""

from __future__ import annotations

from enum import Enum

__all__ = ["JobStatus"]


class JobStatus(Enum):
    """The states of a job, as in Flink; a runner does not use all of them."""

    CREATED = 0
    RUNNING = 1
    FAILING = 2
    FAILED = 3
    CANCELLING = 4
    CANCELED = 5
    FINISHED = 6
    RESTARTING = 7
    SUSPENDED = 8
    RECONCILING = 9

    def is_globally_terminal_state(self) -> bool:
        """Return True if the job has finished, failed or been cancelled."""
        return self in (JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED)

    def is_terminal_state(self) -> bool:
        """Return True if the job has finished, failed, been cancelled or been suspended."""
        return self is JobStatus.SUSPENDED or self.is_globally_terminal_state()
