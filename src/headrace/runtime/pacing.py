"""How large the next micro-batch shall be, by what the last ones took.

This is the backpressure of a job: what a source does not give yet stays where it is. With a
backlog, micro-batches grow until each takes about the target, where the fixed price of one is
small beside its work; a source that is read to its end each time is given out as it comes.
"""

from __future__ import annotations

from dataclasses import dataclass

_STEP = 4.0
"""How many times larger or smaller the next budget is at most: one slow batch says little."""

_FULL = 0.5
"""A micro-batch that holds less than this part of its budget was short of input, not of budget."""


@dataclass(frozen=True)
class Pace:
    """What a micro-batch may take: time in ms, and records between the least and the most."""

    target_ms: int
    least_records: int
    most_records: int
    first_records: int


class Pacer:
    """Plans budgets; time comes in. One per run, as nothing of it must outlive a restart."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._budget = self._within(pace.first_records)
        self._epoch: int | None = None
        self._planned_ms = 0
        self._records: int | None = None

    def budget(self, epoch: int, now_ms: int) -> int:
        """The records for the micro-batch behind ``epoch``, which has ended by now if it began."""
        if epoch == self._epoch and self._records is not None:
            self._learn(self._records, max(now_ms - self._planned_ms, 1))
            self._records = None
        return self._budget

    def planned(self, epoch: int, now_ms: int) -> None:
        """The micro-batch ``epoch`` begins."""
        self._epoch, self._planned_ms, self._records = epoch, now_ms, None

    def sized(self, epoch: int, records: int) -> None:
        """The micro-batch ``epoch`` holds so many records, or about so many."""
        if epoch == self._epoch:
            self._records = records

    def _learn(self, records: int, took_ms: int) -> None:
        if not records:
            return  # timers alone: a budget would not have helped
        wanted = records * self._pace.target_ms / took_ms
        if records >= self._budget * _FULL:
            wanted = min(max(wanted, self._budget / _STEP), self._budget * _STEP)
        elif wanted < self._budget and took_ms > self._pace.target_ms:
            wanted = max(wanted, self._budget / _STEP)
        else:
            return
        self._budget = self._within(round(wanted))

    def _within(self, records: int) -> int:
        return max(min(records, self._pace.most_records), self._pace.least_records, 1)
