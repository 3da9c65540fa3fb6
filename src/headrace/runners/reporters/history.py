"""The counts of the last minutes, from which rates are computed on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from headrace.metrics._merging import Number
from headrace.runners.reporters.samples import as_float

Key = TypeVar("Key")
Counts = Mapping[Key, Number]

_STEPS = 12
"""A time span has this many steps, so a rate over 60 s is exact to 5 s."""

_LONGER = 1.5
"""If a micro-batch takes longer than the last one by this factor, the job counts as idle."""


@dataclass
class _Entry(Generic[Key]):
    """The counts after one or several micro-batches, from ``start_ms`` to ``end_ms``."""

    start_ms: float
    end_ms: float
    counts: Callable[[], Counts[Key]] = field(repr=False)


class CountHistory(Generic[Key]):
    """Counts that change only with committed micro-batches.

    Within a micro-batch they are assumed to grow evenly. ``began_ms``: the time at which all counts
    were 0. ``span_s``: the longest time over which rates are computed.
    """

    def __init__(self, began_ms: float, span_s: float) -> None:
        self._span_ms = span_s * 1000
        self._entries: list[_Entry[Key]] = [_Entry(began_ms, began_ms, dict)]

    def copy(self) -> CountHistory[Key]:
        """Return a copy, which later changes do not affect."""
        copied = CountHistory[Key](0, self._span_ms / 1000)
        copied._entries = [*self._entries]
        return copied

    def keep(self, span_s: float) -> None:
        """Keep the counts of at least the last ``span_s`` seconds."""
        self._span_ms = max(self._span_ms, span_s * 1000)

    def add(self, start_ms: float, end_ms: float, counts: Callable[[], Counts[Key]]) -> None:
        """Add the counts after a micro-batch; ``counts`` is called when a rate needs them."""
        entries = self._entries
        if len(entries) > 2 and end_ms - entries[-2].end_ms < self._span_ms / _STEPS:
            start_ms = entries.pop().start_ms
        start_ms = max(start_ms, entries[-1].end_ms)
        entries.append(_Entry(start_ms, max(end_ms, start_ms), counts))
        while len(entries) > 2 and entries[1].end_ms < end_ms - self._span_ms:
            del entries[0]

    def end_ms(self, now_ms: float) -> float:
        """Return until when counts are known: ``now_ms`` unless a micro-batch may be running."""
        last = self._entries[-1]
        patience_ms = max(_LONGER * (last.end_ms - last.start_ms), self._span_ms / _STEPS)
        return last.end_ms if now_ms - last.end_ms <= patience_ms else now_ms

    def rates(self, now_ms: float, span_s: float) -> Callable[[Key], float | None]:
        """Return a function from a count's key to its growth per second, over the last ``span_s``.

        The function returns None for an unknown count. The span ends at ``end_ms(now_ms)``.
        """
        last, end_ms = self._entries[-1], self.end_ms(now_ms)
        start_ms = max(end_ms - span_s * 1000, self._entries[0].end_ms)
        if end_ms <= start_ms:
            return lambda key: None
        before, after = self._counts_at(start_ms), last.counts()
        seconds = (end_ms - start_ms) / 1000

        def rate(key: Key) -> float | None:
            count = after.get(key)
            return None if count is None else (as_float(count) - before(key)) / seconds

        return rate

    def _counts_at(self, moment_ms: float) -> Callable[[Key], float]:
        known: Counts[Key] = self._entries[0].counts()
        for entry in self._entries[1:]:
            if entry.end_ms > moment_ms:
                if entry.start_ms >= moment_ms:
                    break
                part = (moment_ms - entry.start_ms) / (entry.end_ms - entry.start_ms)
                earlier, later = known, entry.counts()
                return lambda key: (
                    (1 - part) * as_float(earlier.get(key, 0)) + part * as_float(later.get(key, 0))
                )
            known = entry.counts()
        return lambda key: as_float(known.get(key, 0))
