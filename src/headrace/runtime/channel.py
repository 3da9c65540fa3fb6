"""Channels: whose watermark a mark carries."""

from __future__ import annotations

from typing import NamedTuple

ALL_TASKS = -1
"""The ``group`` of a channel that all tasks of a DataFrame share."""

ALL_SPLITS = ""
"""The ``split`` of a channel for all splits of a source: receivers forget those that they know.

A mark of it with the minimum watermark is followed by marks of the current splits. A mark with the
maximum says that there are none: the source has ended."""


class Channel(NamedTuple):
    """A sender upstream with a watermark of its own.

    ``exchange``: the id of the exchange that brings its marks. ``split``: the split of a source, or
    None. ``group``: the key group or subtask upstream; None if all of them have the same watermarks
    and count as one. It is stored and sent as a plain tuple, which is equal to it.
    """

    exchange: str
    split: str | None = None
    group: int | None = None

    @property
    def of_dataframe(self) -> bool:
        """Whether this is the common channel of a DataFrame's tasks: their minimum counts."""
        return self.group == ALL_TASKS
