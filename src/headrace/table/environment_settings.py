"""``EnvironmentSettings``: what a ``TableEnvironment`` is made with."""

from __future__ import annotations

from typing import Self

from headrace.common._options.catalogue import RUNTIME_MODE, read
from headrace.common._options.table import CATALOG_NAME, DATABASE_NAME
from headrace.common.configuration import Configuration
from headrace.errors import SqlValidationError

__all__ = ["EnvironmentSettings"]


class EnvironmentSettings:
    """The mode, the configuration, and the names of the first catalog and database.

    All of them are options of ``get_configuration()``.
    """

    class Builder:
        """Builds ``EnvironmentSettings``; the mode is that of a stream unless another is set."""

        def __init__(self) -> None:
            self._configuration = Configuration()

        def _set(self, key: str, value: str) -> Self:
            self._configuration.set_string(key, value)
            return self

        def with_configuration(self, config: Configuration) -> Self:
            """Set options."""
            self._configuration.add_all(config)
            return self

        def in_batch_mode(self) -> Self:
            """Choose the mode of a batch."""
            return self._set(RUNTIME_MODE.key, "BATCH")

        def in_streaming_mode(self) -> Self:
            """Choose the mode of a stream."""
            return self._set(RUNTIME_MODE.key, "STREAMING")

        def with_built_in_catalog_name(self, built_in_catalog_name: str) -> Self:
            """Set the name of the first catalog."""
            return self._set(CATALOG_NAME.key, built_in_catalog_name)

        def with_built_in_database_name(self, built_in_database_name: str) -> Self:
            """Set the name of the first database."""
            return self._set(DATABASE_NAME.key, built_in_database_name)

        def build(self) -> EnvironmentSettings:
            """Return the settings."""
            return EnvironmentSettings(Configuration(self._configuration))

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    @staticmethod
    def new_instance() -> Builder:
        """Return a builder."""
        return EnvironmentSettings.Builder()

    @staticmethod
    def in_streaming_mode() -> EnvironmentSettings:
        """Return the default settings of a stream."""
        return EnvironmentSettings.new_instance().in_streaming_mode().build()

    @staticmethod
    def in_batch_mode() -> EnvironmentSettings:
        """Return the default settings of a batch."""
        return EnvironmentSettings.new_instance().in_batch_mode().build()

    def is_streaming_mode(self) -> bool:
        """Return whether the mode is streaming.

        Raises:
            SqlValidationError: it is AUTOMATIC, which tables do not support.
        """
        mode = read(self._configuration, RUNTIME_MODE)
        if mode == "AUTOMATIC":
            raise SqlValidationError(
                f"{RUNTIME_MODE.key} is AUTOMATIC, but tables need BATCH or STREAMING",
                hint="EnvironmentSettings.in_batch_mode(), or in_streaming_mode()",
            )
        return mode == "STREAMING"

    def get_configuration(self) -> Configuration:
        """Return the options."""
        return self._configuration

    def get_built_in_catalog_name(self) -> str:
        """Return the name of the first catalog."""
        return read(self._configuration, CATALOG_NAME)

    def get_built_in_database_name(self) -> str:
        """Return the name of the first database."""
        return read(self._configuration, DATABASE_NAME)
