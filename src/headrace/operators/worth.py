"""Whether combining records pays: where keys do not repeat it is given up for a while."""

from __future__ import annotations

SAMPLE = 10_000
"""So many records show whether it pays."""

LEAST = 3
"""It pays where a record that is sent stands for at least so many."""

RESTS = 20
"""Once it did not, so many task runs go without."""


class Worth:
    """Watches how many records came, and how many were sent for them."""

    def __init__(self) -> None:
        self._came = self._sent = 0
        self._rests = 0

    @property
    def pays(self) -> bool:
        """Whether to combine."""
        return self._rests == 0

    def note(self, came: int, sent: int) -> None:
        """So many records were sent in place of those that came."""
        self._came += came
        self._sent += sent
        if self._came >= SAMPLE:
            if self._sent * LEAST > self._came:
                self._rests = RESTS
            self._came = self._sent = 0

    def end_run(self) -> None:
        """A task run has ended."""
        self._rests = max(0, self._rests - 1)
