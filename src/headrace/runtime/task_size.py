"""Computes how many records each source task of a micro-batch gets.

A task has a fixed cost: Spark starts it, a Python process runs it, and the driver processes its
result. So few records that are processed quickly get few tasks. If a user's function takes long for
each record, the records are spread over as many tasks as the job may have.
"""

from __future__ import annotations

from collections import deque

_TASK_MS = 20.0
"""The work for which one more task pays off: about the fixed cost of a task."""

_MAX_TASK_RECORDS = 256
"""The upper limit, even if earlier records were fast: the function may take longer for the next."""

_HISTORY_BATCHES = 8
"""The slowest of the last micro-batches is used; this is their number."""


class TaskSizer:
    """Computes the number of records of a source task from the working time of earlier tasks.

    Each run has its own: in the first micro-batch of a run the working time is not known, so it has
    as many tasks as the job may have.
    """

    def __init__(self) -> None:
        self._epoch: int | None = None
        self._records = 0
        self._record_ms: deque[float] = deque(maxlen=_HISTORY_BATCHES)
        """The working time (ms) of one record, in each of the last micro-batches."""

    def set_record_count(self, epoch: int, record_count: int) -> None:
        """Set the number of records in the micro-batch ``epoch``; an estimate is enough."""
        self._epoch, self._records = epoch, record_count

    def set_working_time(self, epoch: int, working_ms: float) -> None:
        """Set the total working time of all source tasks of ``epoch``, after its commit."""
        if epoch == self._epoch and self._records:
            self._record_ms.append(working_ms / self._records)
            self._epoch = None

    @property
    def task_records(self) -> int:
        """The number of records of each source task of the next micro-batch; at least 1."""
        if not self._record_ms:
            return 1
        slowest_ms = max(self._record_ms)
        if slowest_ms * _MAX_TASK_RECORDS <= _TASK_MS:
            return _MAX_TASK_RECORDS
        return max(int(_TASK_MS / slowest_ms), 1)
