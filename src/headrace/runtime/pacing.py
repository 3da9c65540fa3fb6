"""Computes the size of the next micro-batch from the durations of the last ones.

This is the backpressure of a job: records beyond the budget stay in the source. With a backlog,
micro-batches grow until each takes about the target duration, of which the fixed cost of one is a
small part. A source that is read to its end each time needs no budget. If the fixed cost is large,
micro-batches take longer: about three times that cost. For example, a micro-batch with records for
every page of a large state reads and writes all of it, however few its records.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

_MAX_BUDGET_RATIO = 4.0
"""How many times larger or smaller the next budget is at most: one slow batch says little."""

_FULL_BATCH_RATIO = 0.5
"""A micro-batch that holds less than this part of its budget was short of input, not of budget."""

_MIN_SIZE_RATIO = 1.3
"""The fixed cost is estimated from two micro-batches whose sizes differ by this factor."""

_HISTORY_BATCHES = 8
"""Micro-batches that the next one is compared with: older ones saw another state, another load."""

_MAX_FIXED_COST_RATIO = 3
"""The target duration is this many times the fixed cost, up to ``max_target_ms``."""

_FIXED_COST_DECAY = 0.95
"""The part of a known fixed cost that is kept after a micro-batch that did not show it."""


@dataclass(frozen=True)
class Pace:
    """The target duration of a micro-batch in ms, and the limits of its number of records.

    ``max_target_ms``: the maximum of the target, which a large fixed cost raises.
    ``first_records``: the budget of the first micro-batch.
    """

    target_ms: int
    max_target_ms: int
    min_records: int
    max_records: int
    first_records: int


class Pacer:
    """Computes the record budget of each micro-batch from the durations of earlier ones.

    Each run has a new one: a restart forgets earlier durations.
    """

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._budget = self._clamp_budget(pace.first_records)
        self._epoch: int | None = None
        self._planned_ms = 0
        self._records: int | None = None
        self._seen: deque[tuple[int, int]] = deque(maxlen=_HISTORY_BATCHES)
        """The number of records and the duration (ms) of the last micro-batches."""
        self._fixed_ms = 0.0

    def next_budget(self, epoch: int, now_ms: int) -> int:
        """Return the maximum number of records for the next micro-batch, after ``epoch``.

        If ``epoch`` began, it has ended by ``now_ms``, and its duration changes the budget."""
        if epoch == self._epoch and self._records is not None:
            self._update_budget(self._records, max(now_ms - self._planned_ms, 1))
            self._records = None
        return self._budget

    def begin_epoch(self, epoch: int, now_ms: int) -> None:
        """Record that the micro-batch ``epoch`` begins at ``now_ms``."""
        self._epoch, self._planned_ms, self._records = epoch, now_ms, None

    def set_record_count(self, epoch: int, record_count: int) -> None:
        """Set the exact or approximate number of records in the micro-batch ``epoch``."""
        if epoch == self._epoch:
            self._records = record_count

    def _update_budget(self, record_count: int, duration_ms: int) -> None:
        """Adapt the budget to a micro-batch that has ended; without records, keep it."""
        if not record_count:
            return  # timers alone: a budget would not have helped
        self._update_fixed_cost(record_count, duration_ms)
        pace, fixed_ms = self._pace, self._fixed_ms
        target_ms = max(pace.target_ms, min(_MAX_FIXED_COST_RATIO * fixed_ms, pace.max_target_ms))
        new_budget = record_count * target_ms / duration_ms
        if target_ms > pace.target_ms and duration_ms > fixed_ms:
            new_budget = record_count * (target_ms - fixed_ms) / (duration_ms - fixed_ms)
        if record_count >= self._budget * _FULL_BATCH_RATIO:
            new_budget = min(
                max(new_budget, self._budget / _MAX_BUDGET_RATIO), self._budget * _MAX_BUDGET_RATIO
            )
        elif new_budget < self._budget and duration_ms > target_ms:
            new_budget = max(new_budget, self._budget / _MAX_BUDGET_RATIO)
        else:
            return
        self._budget = self._clamp_budget(round(new_budget))

    def _update_fixed_cost(self, record_count: int, duration_ms: int) -> None:
        """Update the estimated fixed cost of a micro-batch, its duration without records.

        It is extrapolated from this micro-batch and the last one of a different size.
        """
        for other, other_ms in reversed(self._seen):
            if max(record_count, other) >= _MIN_SIZE_RATIO * min(record_count, other):
                per_record = max((duration_ms - other_ms) / (record_count - other), 0.0)
                self._fixed_ms += max(duration_ms - per_record * record_count, 0.0)
                self._fixed_ms /= 2
                break
        else:
            self._fixed_ms *= _FIXED_COST_DECAY
        self._seen.append((record_count, duration_ms))

    def _clamp_budget(self, record_count: int) -> int:
        return max(min(record_count, self._pace.max_records), self._pace.min_records, 1)
