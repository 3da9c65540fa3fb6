"""Whether combining records pays: where keys do not repeat it is given up for a while."""

from __future__ import annotations

SAMPLE_RECORDS = 10_000
"""Size of a sample: after this many records it is decided whether combining pays."""

MIN_RECORDS_PER_PARTIAL = 1.5
"""CombiningOperator pays if a sent record stands for at least this many records."""

SKIPPED_SAMPLES = 10
"""After a bad sample, combining is skipped for this many times the sample's records.

Each further bad sample doubles it.

A job's first micro-batches are small, and the more records there are in one, the more repeat: what
does not pay in these may pay soon after.
"""

MAX_SKIPPED_SAMPLES = 640
"""Upper bound of ``SKIPPED_SAMPLES`` after doubling."""


class CombinePolicy:
    """Decides whether to combine, from how many records arrived and how many were sent."""

    def __init__(self) -> None:
        self._received = self._sent = 0
        self._skipped_samples = SKIPPED_SAMPLES
        self._records_to_skip = 0
        """How many further records are not combined."""

    def should_combine(self, count: int) -> bool:
        """True if the next ``count`` records are to be combined."""
        if self._records_to_skip <= 0:
            return True
        self._records_to_skip -= count
        return False

    def add_sample(self, received: int, sent: int) -> None:
        """Record that ``received`` records arrived and ``sent`` were sent for them."""
        self._received += received
        self._sent += sent
        if self._received < SAMPLE_RECORDS:
            return
        if self._sent * MIN_RECORDS_PER_PARTIAL > self._received:
            self._records_to_skip = self._received * self._skipped_samples
            self._skipped_samples = min(self._skipped_samples * 2, MAX_SKIPPED_SAMPLES)
        else:
            self._skipped_samples = SKIPPED_SAMPLES
        self._received = self._sent = 0
