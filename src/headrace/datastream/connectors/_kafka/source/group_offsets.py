"""Commits a group's offsets, so that users and monitoring tools can see them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from headrace.datastream.connectors._kafka.client.consumer import GroupCommits, TopicPartition
from headrace.errors import JobError

_log = logging.getLogger(__name__)

RETRY_PAUSE_S = 1.0
"""The pause after a failed commit."""
MAX_PENDING_COMMITS = 16
"""The maximum number of unanswered commits: a coordinator that is down must not pile them up."""


@dataclass
class GroupOffsets:
    """Commits changed offsets, and retries failed commits. Of failures in a row, one is logged.

    ``connect`` returns a client; it is called when there is something to commit.
    """

    connect: Callable[[], GroupCommits]
    group: str
    clock: Callable[[], float] = time.monotonic
    _commits: GroupCommits | None = None
    _offsets: dict[TopicPartition, int] = field(default_factory=dict)
    _sent_offsets: dict[TopicPartition, int] = field(default_factory=dict)
    _pending_commits: int = 0
    _retry_at_s: float | None = None
    _warned: bool = False

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit ``offsets`` for the group, without waiting for the answer."""
        self._offsets.update(offsets)
        self.serve()

    def serve(self) -> None:
        """Process the answers that have arrived, and send new commits. It may be called often."""
        if self._commits is not None:  # also without a commit, for its log
            for problem in self._commits.results():
                self._pending_commits -= 1
                self._process_result(problem)
        if self._retry_at_s is not None and self.clock() < self._retry_at_s:
            return
        if self._pending_commits >= MAX_PENDING_COMMITS or self._sent_offsets == self._offsets:
            return
        changed = {
            topic_partition: at
            for topic_partition, at in self._offsets.items()
            if self._sent_offsets.get(topic_partition) != at
        }
        try:
            if self._commits is None:
                self._commits = self.connect()
        except JobError as error:
            self._process_result(str(error))
            return
        self._commits.commit(changed)
        self._sent_offsets.update(changed)
        self._pending_commits += 1

    def _process_result(self, problem: str | None) -> None:
        """Process the result of a commit: an error, or None."""
        self._retry_at_s = None
        if problem is not None:
            self._sent_offsets.clear()  # the failed partitions are unknown
            self._retry_at_s = self.clock() + RETRY_PAUSE_S
            if not self._warned:
                _log.warning(
                    "the offsets of group %s are not committed, so tools show a lag that is not "
                    "there; the job goes on: %s",
                    *(self.group, problem),
                )
        self._warned = problem is not None

    def close(self) -> None:
        """Wait a few seconds for pending commits, and close the client."""
        if self._commits is not None:
            self.serve()
            self._commits.close()
            self._commits, self._pending_commits = None, 0
