"""Which restore points a job keeps, and when it removes them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Self

from headrace.common._options import catalogue as options
from headrace.common.configuration import Configuration

_DEFAULT_INTERVAL_MS = 600_000


@dataclass(frozen=True)
class Retention:
    """How restore points are kept.

    ``kept``: how many. ``tolerable_failures``: so many in a row do not fail the job; None: any
    number.
    """

    kept: int
    interval_ms: int
    min_pause_ms: int = 0
    timeout_ms: int = 600_000
    tolerable_failures: int | None = None

    @classmethod
    def of(cls, configuration: Configuration) -> Self | None:
        """Return what is configured; None if no restore points are kept."""
        kept = options.read(configuration, options.CHECKPOINTS_RETAINED) - 1
        if kept < 1:
            return None
        failures = options.read(configuration, options.CHECKPOINT_FAILURES)
        return cls(
            kept,
            options.read(configuration, options.CHECKPOINT_INTERVAL) or _DEFAULT_INTERVAL_MS,
            options.read(configuration, options.CHECKPOINT_MIN_PAUSE),
            options.read(configuration, options.CHECKPOINT_TIMEOUT),
            None if failures < 0 else failures,
        )


class RemovesCheckpoint(Enum):
    """When a job removes its checkpoint and its restore points."""

    NEVER = "RETAIN_ON_CANCELLATION"
    WHEN_CANCELLED = "DELETE_ON_CANCELLATION"
    AT_END = "NO_EXTERNALIZED_CHECKPOINTS"
    """Also when it is cancelled."""
