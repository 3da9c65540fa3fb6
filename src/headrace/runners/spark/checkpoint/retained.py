"""Restore points: pins that are kept, in ``retained/<time>/`` below a checkpoint.

``restore`` puts a restore point in the place of the checkpoint. The job is then started as usual:
it continues from there, as from an older copy of its checkpoint (``older_copy.py``).
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from headrace.common._storage.sealed import ObjectFormat, get_json, put_json
from headrace.errors import CheckpointError
from headrace.runners.spark.checkpoint import progress, spark_files
from headrace.runners.spark.checkpoint.layout import (
    RESTORING,
    RETAINED,
    CheckpointFolder,
)
from headrace.runners.spark.checkpoint.pins import Pin, copy_pin, read_pin
from headrace.runtime.layout import Layout

_RESTORING = ObjectFormat("restore of a checkpoint")


@dataclass(frozen=True)
class RestorePoint:
    """A restore point: the job's number of its last micro-batch, when it was made, its size."""

    micro_batch: int
    made_ms: int
    size_bytes: int
    folder: str


def restore_points(checkpoint_folder: CheckpointFolder) -> list[RestorePoint]:
    """Return the complete restore points of a job, the oldest first."""
    return [_describe(pin) for pin in _complete_pins(checkpoint_folder)]


def _describe(pin: Pin) -> RestorePoint:
    directory = pin.folder.directory
    size = sum(file.size_bytes for file in pin.folder.files.all_files(directory))
    return RestorePoint(pin.micro_batch, pin.made_ms, size, directory)


def _complete_pins(checkpoint_folder: CheckpointFolder) -> list[Pin]:
    pins = (read_pin(checkpoint_folder, name) for name in _names(checkpoint_folder))
    complete = [pin for pin in pins if pin is not None and pin.has_own_state]
    return sorted(complete, key=lambda pin: (pin.micro_batch, pin.made_ms))


def _names(checkpoint_folder: CheckpointFolder) -> list[str]:
    """Return the folders of restore points below the checkpoint, complete or not."""
    top = posixpath.join(checkpoint_folder.directory, RETAINED)
    return [f"{RETAINED}/{name}" for name in checkpoint_folder.files.names(top)]


def prune(checkpoint_folder: CheckpointFolder, keep: int) -> None:
    """Remove incomplete restore points, and all but the newest ``keep``."""
    complete = _complete_pins(checkpoint_folder)
    known = {pin.folder.directory for pin in complete}
    for name in _names(checkpoint_folder):
        directory = posixpath.join(checkpoint_folder.directory, name)
        if directory not in known:
            checkpoint_folder.files.remove_folder(directory)
    complete.sort(key=lambda pin: (pin.made_ms, pin.batch))
    for pin in complete[: max(len(complete) - keep, 0)]:
        pin.remove()


def restore(checkpoint_folder: CheckpointFolder, micro_batch: int | None) -> RestorePoint:
    """Put a restore point in the place of the checkpoint; None: the newest that is in order.

    The caller owns the checkpoint. A restore that was interrupted is completed by the next one, or
    by the next start of the job.

    Raises:
        CheckpointError: there is no such restore point, or it is damaged.
    """
    pins = _complete_pins(checkpoint_folder)
    problems: dict[str, str] = {}
    for pin in reversed(pins):
        if micro_batch not in (None, pin.micro_batch):
            continue
        problem = _problem_of(pin)
        if problem is None:
            name = f"{RETAINED}/{posixpath.basename(pin.folder.directory)}"
            put_json(checkpoint_folder.store, RESTORING, _RESTORING, {"name": name})
            complete_restore(checkpoint_folder)
            return _describe(pin)
        problems[f"micro-batch {pin.micro_batch}"] = problem
    known = ", ".join(str(pin.micro_batch) for pin in pins)
    raise CheckpointError(
        "there is no restore point without damage"
        if problems
        else f"there is no restore point {'' if micro_batch is None else micro_batch}".rstrip(),
        where={"checkpoint": checkpoint_folder.directory, **problems},
        hint=f"restore points: {known or 'none'} (execution.checkpointing.num-retained says how"
        " many are kept)",
    )


def complete_restore(checkpoint_folder: CheckpointFolder) -> None:
    """Complete a restore that has begun; called by the owner of the checkpoint.

    The restore point stays. The checkpoint's old files are removed first, its ``job`` object is
    stored last.
    """
    store = checkpoint_folder.store
    restoring = get_json(store, RESTORING, _RESTORING)
    if restoring is None:
        return
    pin = read_pin(checkpoint_folder, restoring["name"])
    if pin is None:
        raise CheckpointError(
            "the restore point that replaces the checkpoint no longer exists",
            where={"checkpoint": checkpoint_folder.directory, "restore point": restoring["name"]},
            hint="restore another one: headrace checkpoints restore",
        )
    checkpoint_folder.clear(keep=(RETAINED, RESTORING))
    copy_pin(pin, checkpoint_folder)
    store.delete(RESTORING)


def _problem_of(pin: Pin) -> str | None:
    """Return what is damaged in a restore point; None if it is in order. It reads all of it."""
    try:
        metadata = pin.metadata
        spark = pin.folder.spark(metadata.generation.number)
        stages = len(Layout.from_json(metadata.layout).stages)
        log = progress.log_of(spark)
        if log.end is None or log.committed != pin.batch:
            return "its log is not complete"
        spark_files.check_files(spark, pin.batch, stages)
    except CheckpointError as error:
        return ", ".join([error.message, *map(str, error.where.values())])
    broken = spark_files.first_broken(spark)
    return None if broken is None else f"{broken[0]}: {broken[1]}"
