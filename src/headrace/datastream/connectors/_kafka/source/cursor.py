"""The position in a partition, and the messages that were fetched beyond it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.datastream.connectors._kafka.client.consumer import (
    Fetched,
    OffsetGone,
    PartitionConsumer,
)

SKIPPED_OFFSETS = 100_000
"""Up to this many offsets are read and dropped instead of a seek. They are mostly prefetched
already, after another worker has read them; a seek waits for the fetch that is in progress."""


class Cursor:
    """A position in one partition. ``at``: the next offset to return.

    Offsets have gaps: compaction removes records, and a transaction's end takes an offset. So a
    fetch may return messages beyond the end of a range; they are kept for the next range.
    """

    def __init__(self, log: PartitionConsumer) -> None:
        self._log = log
        self._ahead: Sequence[Any] = ()
        self._reached = 0
        self._behind = False
        self.at = -1

    def move_to(self, offset: int) -> None:
        """Move to an offset; skip records instead of a seek if it is a little ahead."""
        if self.at < 0 or not self.at <= offset <= self.at + SKIPPED_OFFSETS:
            self.seek(offset)
        self._behind = self._behind or offset > self.at
        self.at = offset

    def seek(self, offset: int) -> None:
        """Drop fetched messages, and continue at an offset."""
        self._log.seek(offset)
        self._ahead, self._reached, self._behind, self.at = (), 0, False, offset

    def take_messages(self, end: int, max_messages: int, wait_s: float) -> Sequence[Any]:
        """Return the next messages before ``end``.

        ``at`` moves past them and past a gap that follows.

        Waits up to ``wait_s``. If there are no messages, ``at`` shows whether a gap was passed.

        Raises:
            OffsetGone: the log does not have the next offset.
        """
        messages = self._from_here(self._ahead)
        while not messages:
            if self.at < self._reached:
                self._ahead, self.at = (), min(self._reached, end)
                return ()
            fetched, reached = self._fetch(max_messages, wait_s)
            if reached is not None:
                self._reached = max(self._reached, reached)
            elif not fetched:
                self._ahead = ()
                return ()
            messages = self._from_here(fetched)
        self._behind = False
        if messages[-1].offset() < end:
            self._ahead, self.at = (), messages[-1].offset() + 1
            return messages
        fitting = [message for message in messages if message.offset() < end]
        self._ahead, self.at = messages[len(fitting) :], end
        return fitting

    def _fetch(self, max_messages: int, wait_s: float) -> Fetched:
        try:
            return self._log.fetch(max_messages, wait_s)
        except OffsetGone:
            if not self._behind:
                raise
        # The missing offsets would have been dropped anyway.
        self.seek(self.at)
        return self._log.fetch(max_messages, wait_s)

    def _from_here(self, messages: Sequence[Any]) -> Sequence[Any]:
        """Return the messages from the next offset on."""
        if not messages or messages[0].offset() >= self.at:
            return messages
        return [message for message in messages if message.offset() >= self.at]

    def last_error(self) -> str:
        """Return the last error of the connections, if any."""
        return self._log.last_error()

    def close(self) -> None:
        """Close the consumer."""
        self._log.close()
