"""The grid of aligned windows: windows of one size, at regular distances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headrace.operators.windows.windowing import Windowing

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, Any]

_MAX_ABS_TIMESTAMP = 1 << 62
"""Beyond this, computing the pane could exceed 64 bits."""


@dataclass(frozen=True)
class Grid:
    """Windows ``[start, start + size)`` with ``start = offset + n * slide``; all in ms.

    A **pane** is the longest interval that each window contains completely or not at all. Panes do
    not overlap; a window consists of whole panes.
    """

    size_ms: int
    slide_ms: int
    offset_ms: int

    @cached_property
    def pane_ms(self) -> int:
        """The length of a pane."""
        return math.gcd(self.size_ms, self.slide_ms)

    def pane_of(self, timestamp: int) -> int:
        """Return the start of the pane that contains a timestamp."""
        return timestamp - (timestamp - self.offset_ms) % self.pane_ms

    def windows_of(self, pane: int) -> range:
        """Return the starts of the windows that contain a pane, in order; empty in a gap."""
        last = self.last_window_of(pane)
        count = max(0, (last + self.size_ms - pane - 1) // self.slide_ms + 1)
        return range(last - (count - 1) * self.slide_ms, last + 1, self.slide_ms)

    def last_window_of(self, pane: int) -> int:
        """Return the last of these starts; in a gap, the start of the window before it."""
        return pane - (pane - self.offset_ms) % self.slide_ms

    def panes_of(self, window: int) -> range:
        """Return the starts of a window's panes."""
        return range(window, window + self.size_ms, self.pane_ms)

    @property
    def overlaps(self) -> bool:
        """Whether a moment can be in several windows."""
        return self.slide_ms < self.size_ms


def panes_of(times: Any | None, pane_ms: int, offset_ms: int) -> Numbers | None:
    """Return the start of each timestamp's pane, as an array.

    None if there are no timestamps, one is missing, or one is out of range. ``times``: an Arrow
    array of int64 (ms).
    """
    import pyarrow.compute as pc

    if times is None or times.null_count or not len(times):
        return None
    ends = pc.min_max(times)
    if ends["min"].as_py() < -_MAX_ABS_TIMESTAMP or ends["max"].as_py() > _MAX_ABS_TIMESTAMP:
        return None
    values: Numbers = times.to_numpy()
    panes: Numbers = values - (values - offset_ms) % pane_ms
    return panes


def grid_of(windowing: Windowing) -> Grid | None:
    """Return the grid of windows that fire at their end only; None for other windows.

    A user's subclass of an assigner or trigger may behave differently, so it has no grid.
    """
    if windowing.evictor is not None or not _class_defines(
        windowing.trigger.target, "at_end_of_window"
    ):
        return None
    assigner = windowing.assigner.target
    if not _class_defines(assigner, "grid"):
        return None
    size_ms, slide_ms, offset_ms = assigner.grid
    return Grid(size_ms, slide_ms, offset_ms)


def _class_defines(target: Any, name: str) -> bool:
    return name in vars(type(target))
