"""``RuntimeExecutionMode``: whether a program runs as a stream or as a batch."""

from enum import Enum

__all__ = [
    "RuntimeExecutionMode",
]


class RuntimeExecutionMode(Enum):
    """The values of ``execution.runtime-mode``."""

    STREAMING = "STREAMING"
    """Run in micro-batches, until the input ends or the job is cancelled."""
    BATCH = "BATCH"
    """Read bounded input in one pass, and emit only final results."""
    AUTOMATIC = "AUTOMATIC"
    """BATCH if every source is bounded, otherwise STREAMING."""
