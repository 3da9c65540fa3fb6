"""``ExecutionConfig``: a job's settings as methods instead of configuration keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.common._no_effect import no_effect
from headrace.common._options import catalogue as options
from headrace.common.configuration import Configuration
from headrace.common.time import TimeAmount, milliseconds_of
from headrace.errors import PlanError

__all__ = ["ExecutionConfig"]

_JVM = "it concerns Flink's JVM"


class ExecutionConfig:
    """A view of a ``Configuration``: both read and write the same settings.

    Settings of Flink's JVM have no effect on Spark; they are stored, so that a program can read
    them back.
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

    @no_effect(_JVM)
    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Store the closure cleaner level RECURSIVE (Flink's default); no effect on Spark."""
        self._configuration.set_string("pipeline.closure-cleaner-level", "RECURSIVE")
        return self

    @no_effect(_JVM)
    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Store the closure cleaner level NONE; no effect on Spark."""
        self._configuration.set_string("pipeline.closure-cleaner-level", "NONE")
        return self

    def is_closure_cleaner_enabled(self) -> bool:
        """Return whether the closure cleaner level is not NONE (default True)."""
        return bool(self._read("pipeline.closure-cleaner-level") != "NONE")

    @no_effect("watermarks follow every chunk of records")
    def set_auto_watermark_interval(self, interval: TimeAmount) -> ExecutionConfig:
        """Store the interval; it has no effect on Spark: watermarks follow chunks of records."""
        return self._set_duration("pipeline.auto-watermark-interval", interval, 0)

    def get_auto_watermark_interval(self) -> int:
        """Return the configured interval in ms (default 200)."""
        return int(self._read("pipeline.auto-watermark-interval"))

    @no_effect(_JVM)
    def set_latency_tracking_interval(self, interval: TimeAmount) -> ExecutionConfig:
        """Store the interval; it has no effect on Spark."""
        return self._set_duration("metrics.latency.interval", interval, 0)

    def get_latency_tracking_interval(self) -> int:
        """Return the configured interval in ms (default 0)."""
        return int(self._read("metrics.latency.interval"))

    def get_parallelism(self) -> int:
        """Return the configured number of tasks of a stage (default -1: not set)."""
        value = options.read(self._configuration, options.PARALLELISM)
        return -1 if value is None else value

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Set the number of tasks of a stage; -1 removes the setting.

        Raises:
            PlanError: the number is 0, or less than -1.
        """
        if parallelism == -1:
            self._configuration.remove_config(options.PARALLELISM.key)
        elif parallelism < 1:
            raise PlanError(
                f"the parallelism is {parallelism}", hint="it must be 1 or more, or -1 for none"
            )
        else:
            self._configuration.set_integer(options.PARALLELISM.key, parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """Return the configured number of key groups (default 128)."""
        return options.read(self._configuration, options.MAX_PARALLELISM)

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Set the number of key groups: 1 to 32768, as in Flink.

        Raises:
            PlanError: the number is outside this range.
        """
        if not 1 <= max_parallelism <= 1 << 15:
            raise PlanError(
                f"the maximal parallelism is {max_parallelism}", hint="it must be from 1 to 32768"
            )
        self._configuration.set_integer(options.MAX_PARALLELISM.key, max_parallelism)
        return self

    def get_task_cancellation_interval(self) -> int:
        """Return the configured interval in ms (default 30000)."""
        return int(self._read("task.cancellation.interval"))

    @no_effect(_JVM)
    def set_task_cancellation_interval(self, interval: TimeAmount) -> ExecutionConfig:
        """Store the interval; it has no effect on Spark."""
        return self._set_duration("task.cancellation.interval", interval, 0)

    def get_task_cancellation_timeout(self) -> int:
        """Return the configured timeout in ms (default 180000)."""
        return int(self._read("task.cancellation.timeout"))

    @no_effect(_JVM)
    def set_task_cancellation_timeout(self, timeout: TimeAmount) -> ExecutionConfig:
        """Store the timeout; it has no effect on Spark."""
        return self._set_duration("task.cancellation.timeout", timeout, 0)

    @no_effect(_JVM)
    def enable_force_kryo(self) -> ExecutionConfig:
        """Store that Kryo is used for POJOs; no effect on Spark."""
        return self._set_boolean("pipeline.force-kryo", True)

    @no_effect(_JVM)
    def disable_force_kryo(self) -> ExecutionConfig:
        """Store that Kryo is not used for POJOs (Flink's default); no effect on Spark."""
        return self._set_boolean("pipeline.force-kryo", False)

    def is_force_kryo_enabled(self) -> bool:
        """Return whether ``enable_force_kryo`` is configured (default False)."""
        return bool(self._read("pipeline.force-kryo"))

    @no_effect(_JVM)
    def enable_generic_types(self) -> ExecutionConfig:
        """Store that generic types are allowed (Flink's default); no effect on Spark."""
        return self._set_boolean("pipeline.generic-types", True)

    @no_effect(_JVM)
    def disable_generic_types(self) -> ExecutionConfig:
        """Store that generic types are not allowed; no effect on Spark."""
        return self._set_boolean("pipeline.generic-types", False)

    def has_generic_types_disabled(self) -> bool:
        """Return whether generic types are not allowed (default False)."""
        return not self._read("pipeline.generic-types")

    @no_effect(_JVM)
    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Store that operators without a uid get one (Flink's default); no effect on Spark."""
        return self._set_boolean("pipeline.auto-generate-uids", True)

    @no_effect(_JVM)
    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Store that operators get no generated uids; no effect on Spark."""
        return self._set_boolean("pipeline.auto-generate-uids", False)

    def has_auto_generated_uids_enabled(self) -> bool:
        """Return whether generated uids are enabled (default True)."""
        return bool(self._read("pipeline.auto-generate-uids"))

    @no_effect(_JVM)
    def enable_force_avro(self) -> ExecutionConfig:
        """Store that Avro is used for POJOs; no effect on Spark."""
        return self._set_boolean("pipeline.force-avro", True)

    @no_effect(_JVM)
    def disable_force_avro(self) -> ExecutionConfig:
        """Store that Avro is not used for POJOs (Flink's default); no effect on Spark."""
        return self._set_boolean("pipeline.force-avro", False)

    def is_force_avro_enabled(self) -> bool:
        """Return whether ``enable_force_avro`` is configured (default False)."""
        return bool(self._read("pipeline.force-avro"))

    def enable_object_reuse(self) -> ExecutionConfig:
        """Pass records to the next operator of a chain without copying them.

        User functions must then not change a record that they have received or emitted.
        """
        return self._set_boolean("pipeline.object-reuse", True)

    def disable_object_reuse(self) -> ExecutionConfig:
        """Copy records between the operators of a chain (the default)."""
        return self._set_boolean("pipeline.object-reuse", False)

    def is_object_reuse_enabled(self) -> bool:
        """Return whether records are passed on without copies (default False)."""
        return bool(self._read("pipeline.object-reuse"))

    def get_global_job_parameters(self) -> dict[str, str]:
        """Return a copy of the job's parameters (default empty)."""
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
        """Return an empty dict; Kryo serializers do not exist in Python."""
        return {}

    def get_registered_kryo_types(self) -> list[str]:
        """Return an empty list; Kryo types do not exist in Python."""
        return []

    def get_registered_pojo_types(self) -> list[str]:
        """Return an empty list; POJO types do not exist in Python."""
        return []

    def is_use_snapshot_compression(self) -> bool:
        """Return whether snapshots are to be compressed (default False)."""
        return bool(self._read("execution.checkpointing.snapshot-compression"))

    @no_effect("Spark compresses state")
    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        """Store whether to compress snapshots; Spark compresses state in any case."""
        return self._set_boolean(
            "execution.checkpointing.snapshot-compression", use_snapshot_compression
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExecutionConfig):
            return NotImplemented
        return self._configuration == other._configuration

    def __hash__(self) -> int:
        return hash(self._configuration)
