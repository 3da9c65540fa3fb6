"""What the source and the user's process tell each other of the last micro-batch, by files."""

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
        _replace(path, pickle.dumps(self, 5))


def read_planned(path: str) -> PlannedBatch:
    """Return what the source has planned last; nothing if there is no file yet."""
    try:
        planned: PlannedBatch = pickle.loads(Path(path).read_bytes())
    except FileNotFoundError:
        return PlannedBatch()
    return planned


def write_reading_ms(path: str, reading_ms: float) -> None:
    """Write how long the source tasks of the last committed micro-batch worked together."""
    _replace(path, str(reading_ms).encode())


def read_reading_ms(path: str) -> float | None:
    """Return what ``write_reading_ms`` wrote last; None if there is no file yet."""
    try:
        return float(Path(path).read_bytes())
    except FileNotFoundError:
        return None


def _replace(path: str, data: bytes) -> None:
    aside = f"{path}.tmp"
    Path(aside).write_bytes(data)
    os.replace(aside, path)
