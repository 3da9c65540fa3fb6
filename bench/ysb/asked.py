"""What a contender is told: one JSON text on its command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

RESULTS = "ysb:results"
"""The stream in Redis to which a contender adds an entry for each window: the fields ``campaign``,
``window`` (its start in ms) and ``views``. Redis numbers entries by its own clock, so nobody says
himself when he was done; and what is written twice is there twice."""


@dataclass(frozen=True)
class Asked:
    """Where the events are and where the results go; ``folder`` is empty at the start."""

    brokers: str
    topic: str
    redis: str
    folder: str
    tail_ms: int
    """The event time of the events that only end windows."""
    options: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """For the command line."""
        return json.dumps(asdict(self))

    def option(self, name: str, default: str) -> str:
        """One of the contender's options."""
        return self.options.get(name, default)

    @property
    def path(self) -> Path:
        """The folder."""
        return Path(self.folder)


def asked() -> Asked:
    """What this process was told."""
    return Asked(**json.loads(sys.argv[1]))
