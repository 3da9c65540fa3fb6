"""``EnvironmentSettings``: what a ``TableEnvironment`` is made with."""

from __future__ import annotations

from typing import Self

from headrace.common.configuration import Configuration

__all__ = ["EnvironmentSettings"]


class EnvironmentSettings:
    """The mode, the configuration, and the names of the first catalog and database."""

    class Builder:
        """Builds ``EnvironmentSettings``; the mode is that of a stream unless another is set."""

        def __init__(self) -> None:
            self._configuration = Configuration()
            self._batch = False
            self._catalog = "default_catalog"
            self._database = "default_database"

        def with_configuration(self, config: Configuration) -> Self:
            """Set options."""
            self._configuration.add_all(config)
            return self

        def in_batch_mode(self) -> Self:
            """Choose the mode of a batch."""
            self._batch = True
            return self

        def in_streaming_mode(self) -> Self:
            """Choose the mode of a stream."""
            self._batch = False
            return self

        def with_built_in_catalog_name(self, built_in_catalog_name: str) -> Self:
            """Set the name of the first catalog."""
            self._catalog = built_in_catalog_name
            return self

        def with_built_in_database_name(self, built_in_database_name: str) -> Self:
            """Set the name of the first database."""
            self._database = built_in_database_name
            return self

        def build(self) -> EnvironmentSettings:
            """Return the settings."""
            return EnvironmentSettings(
                self._configuration, self._batch, self._catalog, self._database
            )

    def __init__(
        self, configuration: Configuration, batch: bool, catalog: str, database: str
    ) -> None:
        self._configuration = configuration
        self._batch = batch
        self._catalog = catalog
        self._database = database

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
        """Return whether the mode is that of a stream."""
        return not self._batch

    def get_configuration(self) -> Configuration:
        """Return the options."""
        return self._configuration

    def get_built_in_catalog_name(self) -> str:
        """Return the name of the first catalog."""
        return self._catalog

    def get_built_in_database_name(self) -> str:
        """Return the name of the first database."""
        return self._database
