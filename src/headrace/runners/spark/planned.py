"""What the source has planned last, written for the observers in the user's process."""

from __future__ import annotations

import os
import pickle
from dataclasses import dataclass, field
from pathlib import Path

from headrace.runners.observers import SplitsBySource


@dataclass(frozen=True)
class PlannedBatch:
    """The splits after a micro-batch, and how long it took to plan it."""

    plan_ms: float = 0.0
    splits: SplitsBySource = field(default_factory=dict)

    def write(self, path: str) -> None:
        """Write it to a file, for ``read_planned``."""
        aside = f"{path}.tmp"
        Path(aside).write_bytes(pickle.dumps(self, 5))
        os.replace(aside, path)


def read_planned(path: str) -> PlannedBatch:
    """Return what a file has; nothing if there is none yet."""
    try:
        planned: PlannedBatch = pickle.loads(Path(path).read_bytes())
    except FileNotFoundError:
        return PlannedBatch()
    return planned
