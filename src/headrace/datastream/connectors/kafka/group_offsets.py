"""The offsets of a group, committed for people and their tools."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from headrace.datastream.connectors.kafka.client import Cluster, Place, Unreachable
from headrace.errors import JobError

_log = logging.getLogger(__name__)


@dataclass
class GroupOffsets:
    """Commits what changed. A failure is logged once, and then not until a commit succeeds."""

    _committed: dict[Place, int] = field(default_factory=dict)
    _warned: bool = False

    def commit(
        self, cluster: Callable[[], Cluster], group: str, offsets: Mapping[Place, int]
    ) -> None:
        """Commit these offsets, without waiting for the answer."""
        new = {place: at for place, at in offsets.items() if self._committed.get(place) != at}
        if not new:
            return
        try:
            problem = cluster().commit(group, new)
        except (Unreachable, JobError) as error:
            problem = str(error)
        else:
            if problem:  # of an earlier one, and it does not say of which partitions
                self._committed.clear()
            self._committed.update(new)
        if problem and not self._warned:
            _log.warning("the offsets of group %s are not committed: %s", group, problem)
        self._warned = bool(problem)
