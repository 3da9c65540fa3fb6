"""Files with figures of the last micro-batch, exchanged by the source and the user's process.

The source writes its plan; the user's process writes the working time of source tasks. Both
processes run on the driver's machine. Files are replaced atomically. A file that cannot be written,
for example on a full disk, stays as it was: the job goes on without it.
"""

from __future__ import annotations

import contextlib
import os
import pickle
from dataclasses import dataclass, field
from pathlib import Path

from headrace.runners.observers import SplitsBySource


@dataclass(frozen=True)
class PlannedBatch:
    """The plan of a micro-batch: how long planning took (ms), and the splits at its end.

    ``epoch``: the number of the offset at its end; 0 if nothing is planned.
    """

    plan_ms: float = 0.0
    splits: SplitsBySource = field(default_factory=dict)
    epoch: int = 0

    def write(self, path: str) -> None:
        """Replace the file at ``path``, which ``read_planned`` reads."""
        _replace(path, pickle.dumps(self, 5))


def read_planned(path: str) -> PlannedBatch:
    """Return the last plan that the source wrote; an empty one if there is no file yet."""
    try:
        planned: PlannedBatch = pickle.loads(Path(path).read_bytes())
    except FileNotFoundError:
        return PlannedBatch()
    return planned


def write_reading_ms(path: str, reading_ms: float) -> None:
    """Write the total working time (ms) of all source tasks of the last committed micro-batch."""
    _replace(path, str(reading_ms).encode())


def read_reading_ms(path: str) -> float | None:
    """Return the working time (ms) that was written last; None if there is no file yet."""
    try:
        return float(Path(path).read_bytes())
    except FileNotFoundError:
        return None


def _replace(path: str, data: bytes) -> None:
    draft = f"{path}.tmp"
    with contextlib.suppress(OSError):
        Path(draft).write_bytes(data)
        os.replace(draft, path)
