"""Checkpoint storages are values that give back what they were made with."""

from __future__ import annotations

import pytest

from headrace.datastream import (
    CheckpointStorage,
    CustomCheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from headrace.errors import UnsupportedError


def test_in_memory() -> None:
    storage = JobManagerCheckpointStorage("file:///checkpoints", 1000)
    assert (storage.get_checkpoint_path(), storage.get_max_state_size()) == (
        "file:///checkpoints",
        1000,
    )
    assert "1000" in str(storage)
    bare = JobManagerCheckpointStorage()
    assert bare.get_max_state_size() == JobManagerCheckpointStorage.DEFAULT_MAX_STATE_SIZE
    assert bare.get_checkpoint_path() is bare.get_savepoint_path() is None


def test_in_files() -> None:
    storage = FileSystemCheckpointStorage("file:///checkpoints", 500, 8192)
    assert storage.get_checkpoint_path() == "file:///checkpoints"
    assert storage.get_min_file_size_threshold() == 500
    assert storage.get_write_buffer_size() == 8192
    assert storage.get_savepoint_path() is None
    assert isinstance(storage, CheckpointStorage) and "checkpoints" in str(storage)
    bare = FileSystemCheckpointStorage("file:///checkpoints")
    assert (bare.get_min_file_size_threshold(), bare.get_write_buffer_size()) == (20480, 4096)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a checkpoint_path"):
        FileSystemCheckpointStorage()
    with pytest.raises(ValueError, match="at most"):
        FileSystemCheckpointStorage("c", FileSystemCheckpointStorage.MAX_FILE_STATE_THRESHOLD + 1)
    with pytest.raises(UnsupportedError, match="JVM"):
        CustomCheckpointStorage(None)
