"""Whether a program runs as a stream or as a batch."""

from enum import Enum

__all__ = [
    "RuntimeExecutionMode",
]


class RuntimeExecutionMode(Enum):
    """How ``execution.runtime-mode`` is spelled in Python."""

    STREAMING = "STREAMING"
    """Micro-batches, until the input ends or the job is cancelled."""
    BATCH = "BATCH"
    """One pass over bounded input; only final results."""
    AUTOMATIC = "AUTOMATIC"
    """BATCH when every source is bounded, else STREAMING."""
