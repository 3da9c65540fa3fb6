"""Whether combining records pays: where keys do not repeat it is given up for a while."""

from __future__ import annotations

SAMPLE = 10_000
"""Size of a sample: after this many records it is decided whether combining pays."""

LEAST = 1.5
"""Combining pays if a sent record stands for at least this many records."""

RESTS = 10
"""After a bad sample, combining is skipped for this many times the sample's records.

Each further bad sample doubles it.

A job's first micro-batches are small, and the more records there are in one, the more repeat: what
does not pay in these may pay soon after.
"""

MOST_RESTS = 640
"""Upper bound of ``RESTS`` after doubling."""


class CombinePolicy:
    """Decides whether to combine, from how many records arrived and how many were sent."""

    def __init__(self) -> None:
        self._came = self._sent = 0
        self._rests = RESTS
        self._resting = 0
        """How many further records are not combined."""

    def begin(self, count: int) -> bool:
        """True if the next ``count`` records are to be combined."""
        if self._resting <= 0:
            return True
        self._resting -= count
        return False

    def note(self, came: int, sent: int) -> None:
        """Record that ``came`` records arrived and ``sent`` were sent for them."""
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
