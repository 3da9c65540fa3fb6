"""Where Flink stores checkpoints: declared; Spark stores them here."""

from headrace.common.unsupported import unsupported

_SPARK = "Spark stores checkpoints: set 'execution.checkpointing.dir' in the configuration"

CheckpointStorage = unsupported(f"{__name__}.CheckpointStorage", _SPARK)
JobManagerCheckpointStorage = unsupported(f"{__name__}.JobManagerCheckpointStorage", _SPARK)
FileSystemCheckpointStorage = unsupported(f"{__name__}.FileSystemCheckpointStorage", _SPARK)
CustomCheckpointStorage = unsupported(f"{__name__}.CustomCheckpointStorage", _SPARK)
