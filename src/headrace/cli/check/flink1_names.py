"""Names of PyFlink 1.20 that PyFlink 2.3 does not have, and their replacements.

These are the public names of 1.20's DataStream API (datastream, common) that are not in
``pyflink_names.txt``, without classes that begin with ``Internal``.
"""

from __future__ import annotations

from typing import Any

from headrace.cli.check.catalogue import UNSUPPORTED, Finding

_RESTARTS = "set restart-strategy.type in the configuration"
_STATE = "leave it out: the runner chooses where state lies"
_TIME = "leave it out: a watermark strategy gives event time"
_CHECKPOINTS = "set execution.checkpointing.dir in the configuration"
_RETENTION = "leave it out: a checkpoint stays when its job ends"
_KRYO = "leave it out: there is no Kryo, records are pickled"
_MODE = "leave it out: there is one way to exchange records"

_REPLACEMENTS = {
    "MemoryStateBackend FsStateBackend RocksDBStateBackend": _STATE,
    "StreamExecutionEnvironment.set_state_backend StreamExecutionEnvironment.get_state_backend": (
        _STATE
    ),
    "TimeCharacteristic datastream.time_characteristic": _TIME,
    "StreamExecutionEnvironment.set_stream_time_characteristic"
    " StreamExecutionEnvironment.get_stream_time_characteristic": _TIME,
    "StreamExecutionEnvironment.set_restart_strategy"
    " StreamExecutionEnvironment.get_restart_strategy"
    " ExecutionConfig.set_restart_strategy ExecutionConfig.get_restart_strategy": _RESTARTS,
    "StreamExecutionEnvironment.read_text_file": (
        "FileSource.for_record_stream_format(StreamFormat.text_line_format(), path)"
    ),
    "CheckpointConfig.set_checkpoint_storage CheckpointConfig.set_checkpoint_storage_dir"
    " CheckpointConfig.get_checkpoint_storage": _CHECKPOINTS,
    "ExternalizedCheckpointCleanup CheckpointConfig.enable_externalized_checkpoints"
    " CheckpointConfig.set_externalized_checkpoint_cleanup"
    " CheckpointConfig.get_externalized_checkpoint_cleanup": _RETENTION,
    "StreamExecutionEnvironment.add_default_kryo_serializer"
    " StreamExecutionEnvironment.register_type_with_kryo_serializer"
    " StreamExecutionEnvironment.register_type ExecutionConfig.add_default_kryo_serializer"
    " ExecutionConfig.register_type_with_kryo_serializer ExecutionConfig.register_pojo_type"
    " ExecutionConfig.register_kryo_type"
    " ExecutionConfig.get_registered_types_with_kryo_serializer_classes"
    " ExecutionConfig.is_auto_type_registration_disabled"
    " ExecutionConfig.disable_auto_type_registration": _KRYO,
    "ExecutionMode common.execution_mode ExecutionConfig.set_execution_mode"
    " ExecutionConfig.get_execution_mode"
    " ExecutionConfig.set_default_input_dependency_constraint"
    " ExecutionConfig.get_default_input_dependency_constraint": _MODE,
    "Configuration.parse_jars_value": "leave it out: there are no jars",
}
REPLACEMENTS = {name: instead for names, instead in _REPLACEMENTS.items() for name in names.split()}
"""By ``Class``, ``Class.member`` or a module's path below ``pyflink``."""


def finding_of_flink1_name(name: str) -> Finding | None:
    """Return the finding for a name of Flink 1.x; None for other names."""
    instead = REPLACEMENTS.get(name)
    return None if instead is None else Finding(None, UNSUPPORTED, f"of Flink 1.x: {instead}")


def finding_of_flink1_member(kind: type, member: str) -> Finding | None:
    """Return the same for a class of the package and a member that it does not have."""
    names: list[Any] = [f"{base.__name__}.{member}" for base in kind.__mro__]
    return next(filter(None, map(finding_of_flink1_name, names)), None)


def finding_of_flink1_method(member: str) -> tuple[str, Finding] | None:
    """Return the name and the finding for a method of an unknown object."""
    for name in REPLACEMENTS:
        if name.partition(".")[2] == member and name[:1].isupper():
            found = finding_of_flink1_name(name)
            return None if found is None else (name, found)
    return None
