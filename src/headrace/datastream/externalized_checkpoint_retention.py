"""What becomes of a checkpoint when its job is cancelled."""

from enum import Enum

__all__ = [
    "ExternalizedCheckpointRetention",
]


class ExternalizedCheckpointRetention(Enum):
    """How ``execution.checkpointing.externalized-checkpoint-retention`` is spelled in Python."""

    DELETE_ON_CANCELLATION = "DELETE_ON_CANCELLATION"
    RETAIN_ON_CANCELLATION = "RETAIN_ON_CANCELLATION"
    NO_EXTERNALIZED_CHECKPOINTS = "NO_EXTERNALIZED_CHECKPOINTS"
