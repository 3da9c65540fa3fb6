"""What is kept of a running job at an interval: restore points and savepoints."""

from __future__ import annotations

import posixpath
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from headrace.common._options import catalogue as options
from headrace.common.configuration import Configuration
from headrace.errors import CheckpointError, ConfigurationError
from headrace.runners.retention import Retention
from headrace.runners.savepoint_folders import (
    dispose_savepoint,
    new_savepoint_folder,
    older_savepoints,
)
from headrace.runners.spark.checkpoint.checkpoint import Checkpoint
from headrace.runners.spark.checkpoint.layout import RETAINED, CheckpointFolder, folder_name
from headrace.runners.spark.checkpoint.pins import with_own_state
from headrace.runners.spark.checkpoint.retained import prune
from headrace.runners.spark.periodic import Periodic
from headrace.runners.spark.saver import Saver


def keep_restore_points(
    saver: Saver,
    folder: CheckpointFolder,
    retention: Retention,
    fail: Callable[[BaseException], None],
) -> Periodic:
    """Keep restore points of a running job until the result is closed.

    ``fail`` is called with the error of more failures in a row than are tolerated.
    """

    def keep() -> None:
        began = time.monotonic()
        name = f"{RETAINED}/{time.time_ns() // 1_000_000:014d}"
        with saver.reporting_failure(None):
            try:
                with_own_state(saver.pin(name))
                _check_time(name, (time.monotonic() - began) * 1000, retention.timeout_ms)
            except BaseException:
                folder.files.remove_folder(posixpath.join(folder.directory, name))
                raise
        prune(folder, retention.kept)

    return Periodic(
        "a restore point",
        keep,
        retention.interval_ms,
        retention.min_pause_ms,
        retention.tolerable_failures,
        fail,
    )


def _check_time(name: str, took_ms: float, timeout_ms: int) -> None:
    if took_ms > timeout_ms:
        raise CheckpointError(
            f"a restore point took {took_ms / 1000:,.1f} s",
            where={"restore point": name},
            hint=f"{options.CHECKPOINT_TIMEOUT.key} is {timeout_ms} ms",
        )


@dataclass(frozen=True)
class SavepointSchedule:
    """How periodic savepoints are taken: how often, below which folder, how many are kept."""

    interval_ms: int
    base: str
    kept: int

    @classmethod
    def of(cls, configuration: Configuration) -> Self | None:
        """Return what is configured; None if no periodic savepoints are taken.

        Raises:
            ConfigurationError: there is no folder for them.
        """
        interval_ms = options.read(configuration, options.SAVEPOINT_INTERVAL)
        if interval_ms <= 0:
            return None
        base = options.read(configuration, options.SAVEPOINT_DIR)
        if base is None:
            raise ConfigurationError(
                f"{options.SAVEPOINT_INTERVAL.key} is set, but no folder for savepoints",
                hint=f"set {options.SAVEPOINT_DIR.key}",
            )
        kept = max(options.read(configuration, options.SAVEPOINTS_RETAINED), 1)
        return cls(interval_ms, base, kept)


def take_savepoints(saver: Saver, checkpoint: Checkpoint, schedule: SavepointSchedule) -> Periodic:
    """Take savepoints of a running job until the result is closed; older ones are removed."""
    prefix = f"{folder_name(saver.job_name)}-periodic"

    def take() -> None:
        saver.take(new_savepoint_folder(schedule.base, prefix))
        for folder in older_savepoints(schedule.base, prefix, checkpoint.scope, schedule.kept):
            dispose_savepoint(folder)

    return Periodic("a periodic savepoint", take, schedule.interval_ms)
