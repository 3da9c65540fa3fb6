"""The offsets of a group, committed for people and their tools."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from headrace.datastream.connectors._kafka.client.consumer import GroupCommits, TopicPartition
from headrace.errors import JobError

_log = logging.getLogger(__name__)

AGAIN_S = 1.0
"""The pause after a commit that failed."""
MOST_UNDER_WAY = 16
"""How many commits may wait for an answer: those of a coordinator that is away must not pile up."""


@dataclass
class GroupOffsets:
    """Commits what changed, and again what failed. A failure is logged once, until one succeeds.

    ``connect`` gives a client, which is made when there is something to commit.
    """

    connect: Callable[[], GroupCommits]
    group: str
    clock: Callable[[], float] = time.monotonic
    _commits: GroupCommits | None = None
    _wanted: dict[TopicPartition, int] = field(default_factory=dict)
    _sent: dict[TopicPartition, int] = field(default_factory=dict)
    _under_way: int = 0
    _again_s: float | None = None
    _warned: bool = False

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit these offsets, without waiting for the answer."""
        self._wanted.update(offsets)
        self.serve()

    def serve(self) -> None:
        """Take the answers that have come, and send what is to be sent. It may be called often."""
        if self._commits is not None:  # also without a commit: its log is taken, too
            for problem in self._commits.outcomes():
                self._under_way -= 1
                self._end(problem)
        if self._again_s is not None and self.clock() < self._again_s:
            return
        if self._under_way >= MOST_UNDER_WAY or self._sent == self._wanted:
            return
        changed = {place: at for place, at in self._wanted.items() if self._sent.get(place) != at}
        try:
            if self._commits is None:
                self._commits = self.connect()
        except JobError as error:
            self._end(str(error))
            return
        self._commits.commit(changed)
        self._sent.update(changed)
        self._under_way += 1

    def _end(self, problem: str | None) -> None:
        """A commit was answered, or could not be made."""
        self._again_s = None
        if problem is not None:
            self._sent.clear()  # it does not say of which partitions
            self._again_s = self.clock() + AGAIN_S
            if not self._warned:
                _log.warning(
                    "the offsets of group %s are not committed, so tools show a lag that is not "
                    "there; the job goes on: %s",
                    *(self.group, problem),
                )
        self._warned = problem is not None

    def close(self) -> None:
        """Wait a few seconds for commits under way, and release the client."""
        if self._commits is not None:
            self.serve()
            self._commits.close()
            self._commits, self._under_way = None, 0
