"""Flink's checkpoint storages as plain values; they have no effect on Spark.

PyFlink 2.3 has no method that takes a storage either. The configuration key
``execution.checkpointing.dir`` sets the folder of checkpoints.
"""

from __future__ import annotations

from abc import ABC

from headrace.common._arguments import require_at_least, require_positive
from headrace.common._no_effect import no_effect
from headrace.common._unsupported import unsupported

__all__ = [
    "CheckpointStorage",
    "CustomCheckpointStorage",
    "FileSystemCheckpointStorage",
    "JobManagerCheckpointStorage",
]

_REASON = "Spark stores checkpoints, in 'execution.checkpointing.dir'; no PyFlink method takes one"
_DEFAULT_THRESHOLD_BYTES = 20 * 1024
_DEFAULT_BUFFER_BYTES = 4096


@no_effect(_REASON)
class CheckpointStorage(ABC):  # noqa: B024 - a common name for the values below
    """The base class of checkpoint storages; they have no effect on Spark."""


@no_effect(_REASON)
class JobManagerCheckpointStorage(CheckpointStorage):
    """Flink's storage in the JobManager's memory; it has no effect on Spark."""

    DEFAULT_MAX_STATE_SIZE = 5 * 1024 * 1024

    def __init__(
        self, checkpoint_path: str | None = None, max_state_size: int | None = None
    ) -> None:
        self._path = checkpoint_path
        self._max_state_size = (
            self.DEFAULT_MAX_STATE_SIZE
            if max_state_size is None
            else require_positive(max_state_size, "the maximal size of a state")
        )

    def get_checkpoint_path(self) -> str | None:
        """Return the path given to the constructor, or None."""
        return self._path

    def get_max_state_size(self) -> int:
        """Return the maximum state size in bytes (default 5 MiB)."""
        return self._max_state_size

    def get_savepoint_path(self) -> str | None:
        """Return None; the constructor takes no savepoint path."""
        return None

    def __str__(self) -> str:
        return (
            f"JobManagerCheckpointStorage(checkpoints: {self._path!r},"
            f" max state size: {self._max_state_size})"
        )


@no_effect(_REASON)
class FileSystemCheckpointStorage(CheckpointStorage):
    """Flink's storage in files; it has no effect on Spark."""

    MAX_FILE_STATE_THRESHOLD = 1024 * 1024

    def __init__(
        self,
        checkpoint_path: str | None = None,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int = -1,
    ) -> None:
        if checkpoint_path is None:
            raise ValueError("FileSystemCheckpointStorage needs a checkpoint_path")
        threshold = -1 if file_state_size_threshold is None else file_state_size_threshold
        require_at_least(threshold, -1, "the size of the states that are in no file of their own")
        if threshold > self.MAX_FILE_STATE_THRESHOLD:
            raise ValueError(
                f"the size of the states that are in no file of their own is {threshold}, and"
                f" {self.MAX_FILE_STATE_THRESHOLD} at most"
            )
        self._path = checkpoint_path
        self._threshold = threshold
        self._buffer_size = require_at_least(write_buffer_size, -1, "the size of a write buffer")

    def get_checkpoint_path(self) -> str:
        """Return the path exactly as given to the constructor."""
        return self._path

    def get_savepoint_path(self) -> str | None:
        """Return None; the constructor takes no savepoint path."""
        return None

    def get_min_file_size_threshold(self) -> int:
        """Return the smallest state size in bytes that gets its own file (default 20 KiB)."""
        return _DEFAULT_THRESHOLD_BYTES if self._threshold < 0 else self._threshold

    def get_write_buffer_size(self) -> int:
        """Return the size of the write buffer in bytes (default 4 KiB)."""
        return _DEFAULT_BUFFER_BYTES if self._buffer_size < 0 else self._buffer_size

    def __str__(self) -> str:
        return f"FileSystemCheckpointStorage(checkpoints: {self._path!r})"


CustomCheckpointStorage = unsupported(
    f"{__name__}.CustomCheckpointStorage", "it wraps an object of Flink's JVM"
)
