"""The schedule of aligned windows: when each fires and is removed."""

from __future__ import annotations

from heapq import heappop, heappush

from headrace.common.watermark_strategy import MAX_WATERMARK


class Schedule:
    """A priority queue of the ends and removals of open windows.

    ``lateness_ms``: how long after its end a window accepts records.
    """

    def __init__(self, size_ms: int, lateness_ms: int) -> None:
        self._size_ms, self._lateness_ms = size_ms, lateness_ms
        self._open: set[int] = set()
        self._events: list[tuple[int, bool, int]] = []

    def cleanup_ms(self, start: int) -> int:
        """Return the time (ms) when the window that starts at ``start`` is removed."""
        return min(start + self._size_ms - 1 + self._lateness_ms, MAX_WATERMARK)

    def add_window(self, start: int, reached_ms: int) -> None:
        """Schedule an open window.

        It does not fire again if the watermark ``reached_ms`` has passed its end.
        """
        if start in self._open:
            return
        self._open.add(start)
        end_ms = start + self._size_ms - 1
        if end_ms > reached_ms:
            heappush(self._events, (end_ms, False, start))
        heappush(self._events, (self.cleanup_ms(start), True, start))

    def pop_due(self, watermark: int) -> tuple[int, bool] | None:
        """Remove and return the next due event: a window's start, and True for its removal."""
        if not self._events or self._events[0][0] > watermark:
            return None
        _, ends, start = heappop(self._events)
        if ends:
            self._open.discard(start)
        return start, ends
