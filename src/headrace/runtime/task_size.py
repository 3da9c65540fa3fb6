"""Computes how many records there are to be for each source task of a micro-batch.

A task has a fixed cost: Spark starts it, runs a Python process for it, and handles its result in
the driver. So a few records that are read in a moment are read by few tasks. Where a user's
function needs long for each record, they are spread over as many tasks as the job may have.
"""

from __future__ import annotations

from collections import deque

_TASK_MS = 20.0
"""A further task is worth it for so much work: about what a task costs itself."""

_MAX_TASK_RECORDS = 256
"""However short the last ones took: the next ones may be those for which a function waits."""

_HISTORY_BATCHES = 8
"""The slowest of so many micro-batches counts."""


class TaskSizer:
    """Computes the number of records of a source task from the working time of earlier tasks.

    Each run has a new one: the first micro-batch of a run has as many tasks as it may have.
    """

    def __init__(self) -> None:
        self._epoch: int | None = None
        self._records = 0
        self._record_ms: deque[float] = deque(maxlen=_HISTORY_BATCHES)
        """The working time for a record in each of the last micro-batches."""

    def set_record_count(self, epoch: int, record_count: int) -> None:
        """Set the exact or approximate number of records in the micro-batch ``epoch``."""
        self._epoch, self._records = epoch, record_count

    def set_working_time(self, epoch: int, working_ms: float) -> None:
        """Set how long all source tasks of ``epoch`` together have worked, once it has ended."""
        if epoch == self._epoch and self._records:
            self._record_ms.append(working_ms / self._records)
            self._epoch = None

    @property
    def task_records(self) -> int:
        """The number of records for which the next micro-batch is to have a further task."""
        if not self._record_ms:
            return 1
        slowest_ms = max(self._record_ms)
        if slowest_ms * _MAX_TASK_RECORDS <= _TASK_MS:
            return _MAX_TASK_RECORDS
        return max(int(_TASK_MS / slowest_ms), 1)
