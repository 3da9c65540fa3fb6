"""Windows of event time as slices: the pieces of time between any two borders of windows."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headrace.operators.columns.window_zones import LocalTime
from headrace.operators.windows.aligned.grid import Grid

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class SlicedWindows:
    """Windows of ``size_ms``, one every ``step_ms``; they may overlap, or leave gaps.

    ``cumulative``: windows begin together, end one step after another, and have at most that size.
    ``attached``: the time of a row is the end of the one window that it counts for; a slice is the
    last moment of a window. ``local``: slices, starts and ends are local times. All lengths are in
    ms. A window is known by its end.
    """

    size_ms: int
    step_ms: int
    offset_ms: int = 0
    cumulative: bool = False
    attached: bool = False
    local: LocalTime | None = None

    @cached_property
    def slice_ms(self) -> int:
        """The length of a slice."""
        if self.attached:
            return 1
        return self.step_ms if self.cumulative else math.gcd(self.size_ms, self.step_ms)

    @cached_property
    def _grid(self) -> Grid:
        return Grid(self.size_ms, self.step_ms, self.offset_ms)

    @property
    def layout(self) -> str:
        """How the state is cut, for the operator's kind in checkpoints."""
        begins_ms = self.offset_ms % self.slice_ms
        words = ["ends"] if self.attached else [f"{self.slice_ms}-ms"]
        words += [f"from-{begins_ms}"] if begins_ms else []
        words += [f"in-{self.local.zone}"] if self.local is not None else []
        return "-".join(words)

    def slices_of(self, times: Array) -> Array:
        """Return the start of the slice that each time is in."""
        if self.attached:
            ends: Array = times - 1
            return ends
        at = times if self.local is None else self.local.of_moments(times)
        found: Array = at - (at - self.offset_ms) % self.slice_ms
        return found

    def reached(self, watermark: int) -> int:
        """Return up to which time windows have ended by a watermark, inclusively."""
        return watermark if self.local is None else self.local.reached(watermark)

    def last_moments(self, ends: Array) -> Array:
        """Return the last moment of windows."""
        last: Array = ends - 1
        return last if self.local is None else self.local.to_moments(last)

    def last_ends_of(self, slices: Array) -> Array:
        """Return the end of the last window that contains each slice.

        In a gap between windows it is not after the slice's start.
        """
        if self.attached:
            last: Array = slices + 1
            return last
        period = self.size_ms if self.cumulative else self.step_ms
        found: Array = slices - (slices - self.offset_ms) % period + self.size_ms
        return found

    def ends_of(self, start: int) -> range:
        """Return the ends of the windows that contain a slice, in order; none in a gap."""
        if self.attached:
            return range(start + 1, start + 2)
        if not self.cumulative:
            windows = self._grid.windows_of(start)
            return range(windows.start + self.size_ms, windows.stop + self.size_ms, windows.step)
        base = start - (start - self.offset_ms) % self.size_ms
        return range(start + self.step_ms, base + self.size_ms + 1, self.step_ms)

    def starts_of(self, ends: Array) -> Array:
        """Return where windows start."""
        if not self.cumulative:
            starts: Array = ends - self.size_ms
            return starts
        last = ends - self.step_ms
        found: Array = last - (last - self.offset_ms) % self.size_ms
        return found

    def first_slice(self, end: int) -> int:
        """Return the start of a window's first slice."""
        if self.attached:
            return end - 1
        if not self.cumulative:
            return end - self.size_ms
        last = end - self.step_ms
        return last - (last - self.offset_ms) % self.size_ms

    def next_end(self, start: int, after: int) -> int | None:
        """Return the first window of a slice that ends after a moment."""
        ends = self.ends_of(start)
        place = bisect_right(ends, after)
        return ends[place] if place < len(ends) else None

    def ends_between(self, slices: Iterable[int], after: int, until: int) -> list[int]:
        """Return the windows of some slices that end after ``after``, up to ``until``, in order."""
        found: list[int] = []
        for start in sorted(slices):
            ends = self.ends_of(start)
            # Adjacent slices share nearly all of their windows, which may be thousands.
            known = max(after, found[-1]) if found else after
            found += ends[bisect_right(ends, known) : bisect_right(ends, until)]
        return found
