"""What a checkpoint promises."""

from enum import Enum

__all__ = [
    "CheckpointingMode",
]


class CheckpointingMode(Enum):
    """How ``execution.checkpointing.mode`` is spelled in Python."""

    EXACTLY_ONCE = "EXACTLY_ONCE"
    AT_LEAST_ONCE = "AT_LEAST_ONCE"
