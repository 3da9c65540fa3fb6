"""The guarantees of a checkpoint."""

from enum import Enum

__all__ = [
    "CheckpointingMode",
]


class CheckpointingMode(Enum):
    """The values of ``execution.checkpointing.mode``; they have no effect on Spark."""

    EXACTLY_ONCE = "EXACTLY_ONCE"
    AT_LEAST_ONCE = "AT_LEAST_ONCE"
