"""Flink's state backends as plain values; they have no effect: each runner has its own backend."""

from __future__ import annotations

from abc import ABC
from enum import Enum

from headrace.common._no_effect import no_effect
from headrace.common._unsupported import unsupported

__all__ = [
    "CustomStateBackend",
    "EmbeddedRocksDBStateBackend",
    "HashMapStateBackend",
    "PredefinedOptions",
    "StateBackend",
]

_REASON = "each runner brings its own state backend"


class PredefinedOptions(Enum):
    """Flink's predefined sets of RocksDB options; they have no effect on Spark."""

    DEFAULT = 0
    SPINNING_DISK_OPTIMIZED = 1
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    FLASH_SSD_OPTIMIZED = 3


@no_effect(_REASON)
class StateBackend(ABC):  # noqa: B024 - a common name for the values below
    """The base class of state backends; they have no effect on Spark."""


@no_effect(_REASON)
class HashMapStateBackend(StateBackend):
    """Flink's backend with state in memory; it has no effect on Spark."""


@no_effect(_REASON)
class EmbeddedRocksDBStateBackend(StateBackend):
    """Flink's backend with state in RocksDB; it has no effect on Spark."""

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        self._incremental = bool(enable_incremental_checkpointing)
        self._paths: list[str] | None = None
        self._predefined_options = PredefinedOptions.DEFAULT
        self._options: str | None = None
        self._transfer_threads = 4

    def is_incremental_checkpoints_enabled(self) -> bool:
        """Return whether checkpoints are incremental, as given to the constructor."""
        return self._incremental

    def set_db_storage_paths(self, *paths: str) -> None:
        """Store the paths; they have no effect on Spark."""
        self._paths = list(paths) or None

    def get_db_storage_paths(self) -> list[str] | None:
        """Return the paths of ``set_db_storage_paths``, exactly as given, or None."""
        return self._paths

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        """Store the set of options; it has no effect on Spark."""
        self._predefined_options = options

    def get_predefined_options(self) -> PredefinedOptions:
        """Return the configured set of options (default DEFAULT)."""
        return self._predefined_options

    def set_options(self, options_factory_class_name: str) -> None:
        """Store the name of an options factory; it has no effect on Spark."""
        self._options = options_factory_class_name

    def get_options(self) -> str | None:
        """Return the configured name of the options factory, or None."""
        return self._options

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        """Store the number of threads; it has no effect on Spark."""
        self._transfer_threads = number_of_transfering_threads

    def get_number_of_transfer_threads(self) -> int:
        """Return the configured number of threads (default 4)."""
        return self._transfer_threads


CustomStateBackend = unsupported(
    f"{__name__}.CustomStateBackend", "it wraps a JVM object, and each runner brings its own state"
)
