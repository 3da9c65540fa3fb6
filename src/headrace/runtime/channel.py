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
    """Anything upstream that has a watermark of its own.

    ``exchange``: the id of the exchange that the marks come by. ``split``: the split of a source,
    or None. ``group``: the key group or subtask upstream, or None where all of them go through the
    same watermarks and count as one.
    It is stored and sent as a plain tuple, which is equal to it.
    """

    exchange: str
    split: str | None = None
    group: int | None = None

    @property
    def of_dataframe(self) -> bool:
        """True for the one channel of all tasks of a DataFrame: the least of their marks counts."""
        return self.group == ALL_TASKS
