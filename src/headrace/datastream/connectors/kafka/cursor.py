"""Where a partition is read, and what was fetched beyond it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.datastream.connectors.kafka.client import PartitionLog


class Cursor:
    """A place in one partition. ``at`` is the next offset that was not given out.

    Offsets have gaps: compaction removes records, and a transaction's end takes one. So messages
    beyond the end of a range may be fetched with it; they are kept for the next one.
    """

    def __init__(self, log: PartitionLog) -> None:
        self._log = log
        self._ahead: Sequence[Any] = ()
        self._reached = 0
        self.at = -1

    def move_to(self, offset: int) -> None:
        """Be at an offset. Nothing happens where the cursor is there already."""
        if offset != self.at:
            self._log.seek(offset)
            self._ahead, self._reached, self.at = (), 0, offset

    def take(self, end: int, most: int, wait_s: float) -> Sequence[Any]:
        """The next messages before an end; ``at`` is after them, and after a gap that follows.

        Waits so long at most. Without messages ``at`` says whether the log was read further.

        Raises:
            OffsetGone: the log does not have the next offset.
        """
        if not self._ahead and self.at < self._reached:
            self.at = min(self._reached, end)
            return ()
        messages = self._ahead
        if not messages:
            messages, reached = self._log.fetch(min(most, end - self.at), wait_s)
            if reached is not None:
                self._reached = max(self._reached, reached)
        if not messages:
            self.at = min(max(self.at, self._reached), end)
            return ()
        if messages[-1].offset() < end:
            self._ahead, self.at = (), messages[-1].offset() + 1
            return messages
        fitting = [message for message in messages if message.offset() < end]
        self._ahead, self.at = messages[len(fitting) :], end
        return fitting

    def close(self) -> None:
        """Release the consumer."""
        self._log.close()
