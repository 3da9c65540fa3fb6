"""Channels: whose watermark a mark carries."""

from __future__ import annotations

from typing import NamedTuple

ALL_TASKS = -1
"""The ``group`` of a channel that all tasks of a DataFrame share."""

ALL_SPLITS = ""
"""The ``split`` of a channel that stands for all that receivers know of a source: they forget them.

Its mark with the least watermark comes before those of the splits that there are. Its mark with the
greatest says that there are none: the source has ended."""


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
