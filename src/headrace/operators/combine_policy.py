"""Whether combining records pays: where keys do not repeat it is given up for a while."""

from __future__ import annotations

SAMPLE = 10_000
"""So many records show whether it pays."""

LEAST = 1.5
"""It pays where a record that is sent stands for at least so many."""

RESTS = 10
"""Once it did not, so many times as many records go without; after each further time twice as many.

A job's first micro-batches are small, and the more records there are in one, the more repeat: what
does not pay in these may pay soon after.
"""

MOST_RESTS = 640
"""No rest is longer than so many times the records that showed it."""


class CombinePolicy:
    """Watches how many records came, and how many were sent for them."""

    def __init__(self) -> None:
        self._came = self._sent = 0
        self._rests = RESTS
        self._resting = 0
        """So many records go without."""

    def begin(self, count: int) -> bool:
        """Whether to combine the next records, of which there are so many."""
        if self._resting <= 0:
            return True
        self._resting -= count
        return False

    def note(self, came: int, sent: int) -> None:
        """So many records were sent in place of those that came."""
        self._came += came
        self._sent += sent
        if self._came < SAMPLE:
            return
        if self._sent * LEAST > self._came:
            self._resting = self._came * self._rests
            self._rests = min(self._rests * 2, MOST_RESTS)
        else:
            self._rests = RESTS
        self._came = self._sent = 0
