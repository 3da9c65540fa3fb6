"""Where a job stands."""

from __future__ import annotations

from enum import Enum

__all__ = ["JobStatus"]


class JobStatus(Enum):
    """Where a job stands; Flink's states, of which a runner uses those that it has."""

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
        """Whether the job is over for good: failed, cancelled or finished."""
        return self in (JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED)

    def is_terminal_state(self) -> bool:
        """Whether the job is over, for good or for this driver (suspended)."""
        return self is JobStatus.SUSPENDED or self.is_globally_terminal_state()
