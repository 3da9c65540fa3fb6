"""``ExecutionConfig``: settings of a job as methods instead of keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.common._options import catalogue as options
from headrace.common.configuration import Configuration
from headrace.common.time import TimeAmount, milliseconds_of
from headrace.errors import PlanError

__all__ = ["ExecutionConfig"]


class ExecutionConfig:
    """A view of a ``Configuration``: what is set here is set there, and the other way round.

    Much of it concerns Flink's JVM. It is kept, so that a program reads back what it set; the
    docstrings say where it has no effect here.
    """

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    def _read(self, key: str) -> Any:
        return options.read(self._configuration, options.OPTIONS[key])

    def _set_boolean(self, key: str, value: bool) -> ExecutionConfig:
        self._configuration.set_boolean(key, value)
        return self

    def _set_duration(self, key: str, amount: TimeAmount, at_least: int) -> ExecutionConfig:
        amount_ms = milliseconds_of(amount, key, at_least=at_least)
        self._configuration.set_integer(key, amount_ms)
        return self

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Kept; no effect."""
        self._configuration.set_string("pipeline.closure-cleaner-level", "RECURSIVE")
        return self

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Kept; no effect."""
        self._configuration.set_string("pipeline.closure-cleaner-level", "NONE")
        return self

    def is_closure_cleaner_enabled(self) -> bool:
        """What was set; true unless disabled."""
        return bool(self._read("pipeline.closure-cleaner-level") != "NONE")

    def set_auto_watermark_interval(self, interval: TimeAmount) -> ExecutionConfig:
        """Kept; no effect: watermarks follow every chunk of records."""
        return self._set_duration("pipeline.auto-watermark-interval", interval, 0)

    def get_auto_watermark_interval(self) -> int:
        """What was set, in ms."""
        return int(self._read("pipeline.auto-watermark-interval"))

    def set_latency_tracking_interval(self, interval: TimeAmount) -> ExecutionConfig:
        """Kept; no effect."""
        return self._set_duration("metrics.latency.interval", interval, 0)

    def get_latency_tracking_interval(self) -> int:
        """What was set, in ms."""
        return int(self._read("metrics.latency.interval"))

    def get_parallelism(self) -> int:
        """The number of tasks of a stage; -1 where none is set."""
        value = options.read(self._configuration, options.PARALLELISM)
        return -1 if value is None else value

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Set the number of tasks of a stage; -1 unsets it.

        Raises:
            PlanError: it is neither positive nor -1.
        """
        if parallelism == -1:
            self._configuration.remove_config(options.PARALLELISM.key)
        elif parallelism < 1:
            raise PlanError(f"the parallelism is {parallelism}: it must be at least 1")
        else:
            self._configuration.set_integer(options.PARALLELISM.key, parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """The number of key groups."""
        return options.read(self._configuration, options.MAX_PARALLELISM)

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Set the number of key groups: 1 to 32768, as in Flink.

        Raises:
            PlanError: it is outside that range.
        """
        if not 1 <= max_parallelism <= 1 << 15:
            raise PlanError(f"the maximal parallelism is {max_parallelism}: 1 to 32768 are allowed")
        self._configuration.set_integer(options.MAX_PARALLELISM.key, max_parallelism)
        return self

    def get_task_cancellation_interval(self) -> int:
        """What was set, in ms."""
        return int(self._read("task.cancellation.interval"))

    def set_task_cancellation_interval(self, interval: TimeAmount) -> ExecutionConfig:
        """Kept; no effect."""
        return self._set_duration("task.cancellation.interval", interval, 0)

    def get_task_cancellation_timeout(self) -> int:
        """What was set, in ms."""
        return int(self._read("task.cancellation.timeout"))

    def set_task_cancellation_timeout(self, timeout: TimeAmount) -> ExecutionConfig:
        """Kept; no effect."""
        return self._set_duration("task.cancellation.timeout", timeout, 0)

    def enable_force_kryo(self) -> ExecutionConfig:
        """Kept; no effect."""
        return self._set_boolean("pipeline.force-kryo", True)

    def disable_force_kryo(self) -> ExecutionConfig:
        """Kept; no effect."""
        return self._set_boolean("pipeline.force-kryo", False)

    def is_force_kryo_enabled(self) -> bool:
        """What was set; false unless enabled."""
        return bool(self._read("pipeline.force-kryo"))

    def enable_generic_types(self) -> ExecutionConfig:
        """Kept; no effect."""
        return self._set_boolean("pipeline.generic-types", True)

    def disable_generic_types(self) -> ExecutionConfig:
        """Kept; no effect."""
        return self._set_boolean("pipeline.generic-types", False)

    def has_generic_types_disabled(self) -> bool:
        """What was set; false unless disabled."""
        return not self._read("pipeline.generic-types")

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Kept; no effect."""
        return self._set_boolean("pipeline.auto-generate-uids", True)

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Kept; no effect."""
        return self._set_boolean("pipeline.auto-generate-uids", False)

    def has_auto_generated_uids_enabled(self) -> bool:
        """What was set; true unless disabled."""
        return bool(self._read("pipeline.auto-generate-uids"))

    def enable_force_avro(self) -> ExecutionConfig:
        """Kept; no effect."""
        return self._set_boolean("pipeline.force-avro", True)

    def disable_force_avro(self) -> ExecutionConfig:
        """Kept; no effect."""
        return self._set_boolean("pipeline.force-avro", False)

    def is_force_avro_enabled(self) -> bool:
        """What was set; false unless enabled."""
        return bool(self._read("pipeline.force-avro"))

    def enable_object_reuse(self) -> ExecutionConfig:
        """Hand an operator's output to the next of its chain without a copy."""
        return self._set_boolean("pipeline.object-reuse", True)

    def disable_object_reuse(self) -> ExecutionConfig:
        """The opposite of ``enable_object_reuse``."""
        return self._set_boolean("pipeline.object-reuse", False)

    def is_object_reuse_enabled(self) -> bool:
        """Whether object reuse was enabled."""
        return bool(self._read("pipeline.object-reuse"))

    def get_global_job_parameters(self) -> dict[str, str]:
        """The job's parameters."""
        return options.read(self._configuration, options.JOB_PARAMETERS).copy()

    def set_global_job_parameters(
        self, global_job_parameters_dict: Mapping[str, Any]
    ) -> ExecutionConfig:
        """Set the job's parameters, which ``RuntimeContext.get_job_parameter`` reads."""
        parameters = options.JOB_PARAMETERS.parse(global_job_parameters_dict)
        self._configuration.add_all(
            Configuration.from_dict({options.JOB_PARAMETERS.key: parameters})
        )
        return self

    def get_default_kryo_serializer_classes(self) -> dict[str, str]:
        """Nothing: there are no Kryo serializers."""
        return {}

    def get_registered_kryo_types(self) -> list[str]:
        """Nothing: there are no Kryo serializers."""
        return []

    def get_registered_pojo_types(self) -> list[str]:
        """Nothing: there are no POJOs."""
        return []

    def is_use_snapshot_compression(self) -> bool:
        """What was set; false unless enabled."""
        return bool(self._read("execution.checkpointing.snapshot-compression"))

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        """Kept; no effect: Spark compresses state."""
        return self._set_boolean(
            "execution.checkpointing.snapshot-compression", use_snapshot_compression
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExecutionConfig):
            return NotImplemented
        return self._configuration == other._configuration

    def __hash__(self) -> int:
        return hash(self._configuration)
