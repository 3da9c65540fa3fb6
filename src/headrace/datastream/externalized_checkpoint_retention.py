"""Whether a checkpoint is kept when its job is cancelled."""

from enum import Enum

__all__ = [
    "ExternalizedCheckpointRetention",
]


class ExternalizedCheckpointRetention(Enum):
    """The values of ``execution.checkpointing.externalized-checkpoint-retention``."""

    DELETE_ON_CANCELLATION = "DELETE_ON_CANCELLATION"
    RETAIN_ON_CANCELLATION = "RETAIN_ON_CANCELLATION"
    NO_EXTERNALIZED_CHECKPOINTS = "NO_EXTERNALIZED_CHECKPOINTS"
