"""The settings of a job, as methods of the environment."""

from __future__ import annotations

import json
import os
from typing import Self

from headrace.common._arguments import require_instance, require_non_empty, require_positive
from headrace.common._no_effect import no_effect
from headrace.common._options import catalogue as options
from headrace.common._options import dependencies
from headrace.common._options.option import ConfigOption
from headrace.common.configuration import Configuration
from headrace.common.execution_config import ExecutionConfig
from headrace.common.time import TimeAmount, milliseconds_of
from headrace.datastream.checkpoint_config import CheckpointConfig
from headrace.datastream.checkpointing_mode import CheckpointingMode
from headrace.datastream.execution_mode import RuntimeExecutionMode
from headrace.datastream.slot_sharing_group import SlotSharingGroup
from headrace.errors import ConfigurationError

_BUFFER_TIMEOUT = "execution.buffer-timeout.interval"
_CHANGELOG = "state.changelog.enabled"
_BATCH = "every micro-batch is a checkpoint, made and kept by Spark"
_NO_JARS = "connectors are written in Python; for Spark's jars set headrace.spark.conf.spark.jars"


def environment_settings() -> Configuration:
    """Return the settings that this process's environment has for every job (``headrace run -D``).

    Raises:
        ConfigurationError: an unknown key, or a value that cannot be parsed.
    """
    given = os.environ.get(options.SETTINGS_VARIABLE)
    if not given:
        return Configuration.from_dict({})
    try:
        settings = json.loads(given)
    except ValueError as error:
        raise ConfigurationError(
            f"{options.SETTINGS_VARIABLE} is not JSON: {error}",
            hint='{"key": "value", …}; YARN takes quotes away, and needs \\" for each',
        ) from None
    return Configuration.from_dict(settings)


class JobSettings:
    """The settings of a job; all are kept in one ``Configuration``."""

    _configuration: Configuration

    def get_config(self) -> ExecutionConfig:
        """Return the ``ExecutionConfig``, a view of the job's settings."""
        return ExecutionConfig(self._configuration)

    def configure(self, configuration: Configuration) -> None:
        """Add all settings of a configuration; they replace those with the same keys."""
        self._configuration.add_all(configuration)

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> Self:
        """Set the runtime mode: STREAMING (default), BATCH, or AUTOMATIC."""
        mode = require_instance(RuntimeExecutionMode, execution_mode)
        self._configuration.set_string(options.RUNTIME_MODE.key, mode.name)
        return self

    def set_parallelism(self, parallelism: int) -> Self:
        """Set the default parallelism, for operators that do not set one."""
        require_positive(parallelism, "a parallelism")
        self.get_config().set_parallelism(parallelism)
        return self

    def get_parallelism(self) -> int:
        """Return the default parallelism; if none is configured, the number of CPU cores."""
        value = options.read(self._configuration, options.PARALLELISM)
        return self.get_default_local_parallelism() if value is None else value

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Set the number of key groups: 1 to 32768."""
        self.get_config().set_max_parallelism(max_parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """Return the configured number of key groups (default 128)."""
        return self.get_config().get_max_parallelism()

    @no_effect("the configuration or the number of Spark's cores decides")
    def set_default_local_parallelism(self, parallelism: int) -> None:
        """Check that the number is 1 or more; it has no effect on Spark."""
        require_positive(parallelism, "a parallelism")

    def get_default_local_parallelism(self) -> int:
        """Return the number of this machine's CPU cores."""
        return os.cpu_count() or 1

    @no_effect("Spark schedules the tasks")
    def register_slot_sharing_group(self, slot_sharing_group: SlotSharingGroup) -> Self:
        """Do nothing: Spark schedules the tasks."""
        return self

    @no_effect("records travel in blocks, there are no buffers to flush")
    def set_buffer_timeout(self, timeout_millis: TimeAmount) -> Self:
        """Store the timeout; it has no effect on Spark. -1 removes the setting."""
        if timeout_millis == -1:
            self._configuration.remove_config(_BUFFER_TIMEOUT)
        else:
            timeout_ms = milliseconds_of(timeout_millis, "a buffer timeout", at_least=0)
            self._configuration.set_integer(_BUFFER_TIMEOUT, timeout_ms)
        return self

    def get_buffer_timeout(self) -> int:
        """Return the configured timeout in ms (default 100)."""
        return int(options.read(self._configuration, options.OPTIONS[_BUFFER_TIMEOUT]))

    def disable_operator_chaining(self) -> Self:
        """Run each operator in a separate task."""
        self._configuration.set_boolean(options.CHAINING.key, False)
        return self

    def is_chaining_enabled(self) -> bool:
        """Return whether operators may be chained in one task (default True)."""
        return options.read(self._configuration, options.CHAINING)

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        """Return whether operators with different max parallelism may be chained (default True)."""
        return options.read(self._configuration, options.CHAINING_ACROSS_MAX_PARALLELISM)

    def get_checkpoint_config(self) -> CheckpointConfig:
        """Return the ``CheckpointConfig``, a view of the job's settings."""
        return CheckpointConfig(self._configuration)

    @no_effect(_BATCH)
    def enable_checkpointing(
        self, interval: TimeAmount, mode: CheckpointingMode | None = None
    ) -> Self:
        """Store the interval and the mode; they have no effect on Spark.

        On Spark each micro-batch is a checkpoint.
        """
        checkpoints = self.get_checkpoint_config().set_checkpoint_interval(interval)
        if mode is not None:
            checkpoints.set_checkpointing_mode(mode)
        return self

    def get_checkpoint_interval(self) -> int:
        """Return the configured interval in ms (default -1: not set)."""
        return self.get_checkpoint_config().get_checkpoint_interval()

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Return the configured mode (default EXACTLY_ONCE)."""
        return self.get_checkpoint_config().get_checkpointing_mode()

    def get_checkpointing_consistency_mode(self) -> CheckpointingMode:
        """Return the configured mode; the newer name of ``get_checkpointing_mode``."""
        return self.get_checkpointing_mode()

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Return whether unaligned checkpoints are configured (default False)."""
        return self.get_checkpoint_config().is_unaligned_checkpoints_enabled()

    def is_force_unaligned_checkpoints(self) -> bool:
        """Return whether unaligned checkpoints are forced (default False)."""
        return self.get_checkpoint_config().is_force_unaligned_checkpoints()

    @no_effect("Spark's state store always writes a change log")
    def enable_changelog_state_backend(self, enabled: bool) -> Self:
        """Store whether state changes are logged; no effect on Spark, which always logs them."""
        self._configuration.set_boolean(_CHANGELOG, enabled)
        return self

    def is_changelog_state_backend_enabled(self) -> bool | None:
        """Return the value of ``enable_changelog_state_backend``; None if it is not set."""
        if not self._configuration.contains_key(_CHANGELOG):
            return None
        return self._configuration.get_boolean(_CHANGELOG, False)

    def set_default_savepoint_directory(self, directory: str) -> Self:
        """Set the folder below which savepoints are written, unless a request names one."""
        self._configuration.set_string(options.SAVEPOINT_DIR.key, directory)
        return self

    def get_default_savepoint_directory(self) -> str | None:
        """Return the configured directory, or None."""
        return options.read(self._configuration, options.SAVEPOINT_DIR)

    @no_effect(_NO_JARS)
    def add_jars(self, *jars_path: str) -> None:
        """Do nothing: connectors are written in Python.

        For Spark's jars, set ``headrace.spark.conf.spark.jars``.
        """

    @no_effect(_NO_JARS)
    def add_classpaths(self, *classpaths: str) -> None:
        """Do nothing: connectors are written in Python."""

    # Dependencies of functions. Whether they exist is checked when the job starts.

    def add_python_file(self, file_path: str) -> None:
        """Add a .py file, a folder, or a .zip, .whl or .egg file that functions can import from."""
        self._prepend(dependencies.PYTHON_FILES, file_path)

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> None:
        """Install a requirements file with pip for the functions, before they run.

        With ``requirements_cache_dir``, pip installs only from the package files in that folder.
        """
        given = _join_paths(requirements_file_path, requirements_cache_dir)
        self._configuration.set_string(dependencies.PYTHON_REQUIREMENTS.key, given)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Extract an archive into the functions' working directory.

        The subfolder is called ``target_dir``, or as the archive file.
        """
        self._prepend(dependencies.PYTHON_ARCHIVES, _join_paths(archive_path, target_dir))

    def set_python_executable(self, python_exec: str) -> None:
        """Set the Python interpreter of the workers, if the job starts the Spark session."""
        require_non_empty(python_exec, "an interpreter")
        self._configuration.set_string(dependencies.PYTHON_EXECUTABLE.key, python_exec)

    def register_cached_file(self, file_path: str, name: str, executable: bool = False) -> None:
        """Make a file available to functions, under ``name`` in their working directory."""
        require_non_empty(name, "a cached file's name")
        registered = options.read(self._configuration, dependencies.CACHED_FILES)
        entry = f"name:{name},path:{file_path}" + (",executable:true" if executable else "")
        self._configuration.set_string(
            dependencies.CACHED_FILES.key, ";".join([*registered, entry])
        )

    def _prepend(self, option: ConfigOption[str], entry: str) -> None:
        require_non_empty(entry, "a path")
        before = options.read(self._configuration, option)
        self._configuration.set_string(option.key, ",".join(filter(None, [entry, before])))


def _join_paths(path: str, more: str | None) -> str:
    require_non_empty(path, "a path")
    return path if more is None else f"{path}#{more}"
