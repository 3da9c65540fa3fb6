"""Checkpoint settings.

Each micro-batch is a checkpoint, made and kept by Spark. Some settings say how often and for how
long restore points are kept; the others are stored so that a program can read them back.
"""

from __future__ import annotations

from typing import Any

from headrace.common import _arguments as arguments
from headrace.common._no_effect import no_effect
from headrace.common._options import catalogue as options
from headrace.common.configuration import Configuration
from headrace.common.time import Duration, TimeAmount, milliseconds_of
from headrace.datastream.checkpointing_mode import CheckpointingMode
from headrace.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention

__all__ = ["CheckpointConfig"]

_PREFIX = "execution.checkpointing."


_BATCH = no_effect("every micro-batch is a checkpoint, made and kept by Spark")
_ALIGNED = no_effect("a micro-batch has no barriers, so there is nothing to align")


class CheckpointConfig:
    """A view of a ``Configuration``: both read and write the same settings.

    On Spark each micro-batch is a checkpoint. Interval, pause, timeout, tolerable failures and
    retention are about restore points, which are kept if
    ``execution.checkpointing.num-retained`` is more than 1.
    """

    DEFAULT_MODE = CheckpointingMode.EXACTLY_ONCE
    DEFAULT_TIMEOUT = 600_000
    DEFAULT_MIN_PAUSE_BETWEEN_CHECKPOINTS = 0
    DEFAULT_MAX_CONCURRENT_CHECKPOINTS = 1

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    def _read(self, name: str) -> Any:
        return options.read(self._configuration, options.OPTIONS[_PREFIX + name])

    def _set_time(self, name: str, amount: TimeAmount, at_least: int) -> CheckpointConfig:
        amount_ms = milliseconds_of(amount, _PREFIX + name, at_least=at_least)
        self._configuration.set_integer(_PREFIX + name, amount_ms)
        return self

    def _set_count(self, name: str, count: int, at_least: int) -> CheckpointConfig:
        self._configuration.set_integer(
            _PREFIX + name, arguments.require_at_least(count, at_least, _PREFIX + name)
        )
        return self

    def is_checkpointing_enabled(self) -> bool:
        """Return True if a checkpoint interval is configured."""
        return self.get_checkpoint_interval() > 0

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Return the configured mode (default EXACTLY_ONCE)."""
        return CheckpointingMode[options.read(self._configuration, options.CHECKPOINTING_MODE)]

    @_BATCH
    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Store the checkpointing mode; it has no effect on Spark."""
        mode = arguments.require_instance(CheckpointingMode, checkpointing_mode)
        self._configuration.set_string(options.CHECKPOINTING_MODE.key, mode.name)
        return self

    def get_checkpoint_interval(self) -> int:
        """Return the configured interval in ms (default -1: not set)."""
        return int(self._read("interval")) or -1

    def set_checkpoint_interval(self, checkpoint_interval: TimeAmount) -> CheckpointConfig:
        """Set how often a restore point is kept; it does not delay output."""
        return self._set_time("interval", checkpoint_interval, 1)

    def get_checkpoint_timeout(self) -> int:
        """Return the configured timeout in ms (default 600000)."""
        return int(self._read("timeout"))

    def set_checkpoint_timeout(self, checkpoint_timeout: TimeAmount) -> CheckpointConfig:
        """Set the time after which a restore point has failed."""
        return self._set_time("timeout", checkpoint_timeout, 1)

    def get_min_pause_between_checkpoints(self) -> int:
        """Return the configured pause in ms (default 0)."""
        return int(self._read("min-pause"))

    def set_min_pause_between_checkpoints(
        self, min_pause_between_checkpoints: TimeAmount
    ) -> CheckpointConfig:
        """Set the least pause between two restore points."""
        return self._set_time("min-pause", min_pause_between_checkpoints, 0)

    def get_max_concurrent_checkpoints(self) -> int:
        """Return the configured number (default 1)."""
        return int(self._read("max-concurrent-checkpoints"))

    @_BATCH
    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """Store the largest number of concurrent checkpoints; it has no effect on Spark."""
        return self._set_count("max-concurrent-checkpoints", max_concurrent_checkpoints, 1)

    def is_fail_on_checkpointing_errors(self) -> bool:
        """Return True if no checkpoint failure is tolerated (the default)."""
        return self.get_tolerable_checkpoint_failure_number() == 0

    def set_fail_on_checkpointing_errors(
        self, fail_on_checkpointing_errors: bool
    ) -> CheckpointConfig:
        """Set that no failed restore points (True) or any number (False) are tolerated."""
        return self.set_tolerable_checkpoint_failure_number(
            0 if fail_on_checkpointing_errors else 2**31 - 1
        )

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """Return how many failed restore points in a row are tolerated (PyFlink's default: 0)."""
        return max(int(self._read("tolerable-failed-checkpoints")), 0)

    def set_tolerable_checkpoint_failure_number(
        self, tolerable_checkpoint_failure_number: int
    ) -> CheckpointConfig:
        """Set how many failed restore points in a row the job tolerates."""
        return self._set_count(
            "tolerable-failed-checkpoints", tolerable_checkpoint_failure_number, 0
        )

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Set when the checkpoint and restore points of the job are deleted."""
        mode = arguments.require_instance(ExternalizedCheckpointRetention, retention_mode)
        self._configuration.set_string(_PREFIX + "externalized-checkpoint-retention", mode.name)
        return self

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Return True if a retention other than NO_EXTERNALIZED_CHECKPOINTS is configured."""
        retention = self.get_externalized_checkpoint_retention()
        return retention is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        """Return the configured retention.

        Without one it is NO_EXTERNALIZED_CHECKPOINTS, as in PyFlink. But then the checkpoint is
        kept all the same: see ``execution.checkpointing.externalized-checkpoint-retention``.
        """
        if self._configuration.value_of(options.CHECKPOINT_RETENTION.key) is None:
            return ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
        return ExternalizedCheckpointRetention[self._read("externalized-checkpoint-retention")]

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Return whether unaligned checkpoints are configured (default False)."""
        return bool(self._read("unaligned.enabled"))

    @_ALIGNED
    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        """Store whether checkpoints are unaligned; on Spark they are always aligned."""
        self._configuration.set_boolean(_PREFIX + "unaligned.enabled", enabled)
        return self

    @_ALIGNED
    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        """Store that checkpoints are aligned, as they always are on Spark."""
        return self.enable_unaligned_checkpoints(False)

    @_ALIGNED
    def set_aligned_checkpoint_timeout(self, alignment_timeout: TimeAmount) -> CheckpointConfig:
        """Store the timeout; it has no effect on Spark."""
        return self._set_time("aligned-checkpoint-timeout", alignment_timeout, 0)

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """Return the configured timeout (default 0 ms)."""
        return Duration.of_millis(int(self._read("aligned-checkpoint-timeout")))

    @_ALIGNED
    def set_alignment_timeout(self, alignment_timeout: TimeAmount) -> CheckpointConfig:
        """Store the timeout; the older name of ``set_aligned_checkpoint_timeout``."""
        return self.set_aligned_checkpoint_timeout(alignment_timeout)

    def get_alignment_timeout(self) -> Duration:
        """Return the configured timeout; the older name of ``get_aligned_checkpoint_timeout``."""
        return self.get_aligned_checkpoint_timeout()

    @_ALIGNED
    def set_force_unaligned_checkpoints(
        self, force_unaligned_checkpoints: bool = True
    ) -> CheckpointConfig:
        """Store whether unaligned checkpoints are forced; it has no effect on Spark."""
        self._configuration.set_boolean(_PREFIX + "unaligned.forced", force_unaligned_checkpoints)
        return self

    def is_force_unaligned_checkpoints(self) -> bool:
        """Return whether unaligned checkpoints are forced (default False)."""
        return bool(self._read("unaligned.forced"))
