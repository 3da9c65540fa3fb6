"""Whether sinks may have published results from a checkpoint; if so, its job is fixed."""

from __future__ import annotations

from headrace.common._storage.sealed import ObjectFormat, get_json, json_bytes, seal
from headrace.errors import CheckpointError
from headrace.runners.spark.checkpoint import progress
from headrace.runners.spark.checkpoint.layout import BEGUN, CheckpointFolder
from headrace.runners.spark.checkpoint.metadata import CheckpointMetadata
from headrace.runners.spark.checkpoint.split_states import SplitStates

_PUBLISHED = ObjectFormat("begun")


def mark_published(checkpoint_folder: CheckpointFolder) -> None:
    """Record that results may be published from here."""
    if checkpoint_folder.store.get(BEGUN) is None:
        checkpoint_folder.store.put_if_absent(BEGUN, seal(_PUBLISHED, json_bytes({})))


def may_have_published(checkpoint_folder: CheckpointFolder) -> bool:
    """Return whether a sink may have published results from here."""
    return (
        get_json(checkpoint_folder.store, BEGUN, _PUBLISHED) is not None
        or SplitStates(checkpoint_folder.store).last > 0
        or any(
            progress.has_committed(checkpoint_folder.spark(n))
            for n in checkpoint_folder.generations()
        )
        or _tasks_may_have_published(checkpoint_folder)
    )


def _tasks_may_have_published(checkpoint_folder: CheckpointFolder) -> bool:
    """Return whether a sink that commits by task has run: such commits are not reported."""
    if not any(
        progress.has_planned(checkpoint_folder.spark(n)) for n in checkpoint_folder.generations()
    ):
        return False
    try:
        metadata = CheckpointMetadata.read(checkpoint_folder.store)
    except CheckpointError:
        return False  # reported where the metadata is needed
    return metadata is not None and metadata.has_task_commits
