"""When to combine records: not while keys hardly repeat."""

from __future__ import annotations

SAMPLE_RECORDS = 10_000
"""The size of a sample, after which it is decided whether combining pays."""

MIN_RECORDS_PER_PARTIAL = 1.5
"""Combining pays if at least this many records were received for each one sent."""

SKIPPED_SAMPLES = 10
"""After a bad sample, combining is skipped for this many times the sample's records.

Each further bad sample doubles it, up to ``MAX_SKIPPED_SAMPLES``. It is tried again because keys
repeat more in larger micro-batches, and the first ones of a job are small.
"""

MAX_SKIPPED_SAMPLES = 640
"""Upper bound of ``SKIPPED_SAMPLES`` after doubling."""


class CombinePolicy:
    """Decides whether to combine, from the numbers of records received and sent."""

    def __init__(self) -> None:
        self._received = self._sent = 0
        self._skipped_samples = SKIPPED_SAMPLES
        self._records_to_skip = 0
        """How many more records are not combined."""

    def should_combine(self, count: int) -> bool:
        """Return whether to combine the next ``count`` records."""
        if self._records_to_skip <= 0:
            return True
        self._records_to_skip -= count
        return False

    def add_sample(self, received: int, sent: int) -> None:
        """Add the numbers of records received, and of records sent for them."""
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
