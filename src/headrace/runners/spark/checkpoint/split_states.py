"""What splits remember between micro-batches, kept beside the checkpoint.

The sink's commit writes the states at the end of an epoch, before Spark calls the micro-batch
done; the source plans the next one from them. So a micro-batch that is run again starts from
the same states.
"""

from __future__ import annotations

import os
import pickle
from pathlib import Path

from headrace.runtime.coordinator import States

_KEPT = 8


class SplitStates:
    """A folder with one file per epoch; the last few are kept."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._last: tuple[int, States] | None = None

    def load(self, epoch: int) -> States:
        """The states at the end of an epoch; before the first one there are none."""
        if self._last is not None and self._last[0] == epoch:
            return self._last[1]
        path = self._path(epoch)
        states: States = pickle.loads(path.read_bytes()) if path.exists() else {}
        self._last = (epoch, states)
        return states

    def save(self, epoch: int, states: States) -> None:
        """Write the states of an epoch, whole or not at all; old ones go."""
        self._directory.mkdir(parents=True, exist_ok=True)
        path = self._path(epoch)
        aside = path.with_suffix(f".{os.getpid()}.tmp")
        with aside.open("wb") as out:
            out.write(pickle.dumps(dict(states), 5))
            out.flush()
            os.fsync(out.fileno())
        aside.replace(path)
        self._path(epoch - _KEPT).unlink(missing_ok=True)

    def _path(self, epoch: int) -> Path:
        return self._directory / f"{epoch:012d}"
