"""``TableConfig``: the options of a ``TableEnvironment``."""

from __future__ import annotations

import datetime
from typing import Any

from headrace.common._options.dependencies import PYTHON_EXECUTABLE
from headrace.common._options.values import ValueKind, parse
from headrace.common.configuration import Configuration
from headrace.common.time import Duration
from headrace.errors import UnsupportedError
from headrace.table.sql_dialect import SqlDialect

__all__ = ["TableConfig"]

_TIME_ZONE, _TTL = "table.local-time-zone", "table.exec.state.ttl"
_CODE_LENGTH, _DEFAULT_CODE_LENGTH = "table.generated-code.max-length", 4000


class TableConfig:
    """Options by key, and methods for some of them."""

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    @staticmethod
    def get_default() -> TableConfig:
        """Return options that have their defaults."""
        return TableConfig()

    def get(self, key: str, default_value: str | None) -> str | None:
        """Return an option."""
        found = self._configuration.to_dict().get(key)
        return default_value if found is None else found

    def set(self, key: str, value: str) -> TableConfig:
        """Set an option."""
        self._configuration.set_string(key, value)
        return self

    def get_local_timezone(self) -> str:
        """Return the time zone of TIMESTAMP_LTZ."""
        found = self._configuration.get_string(_TIME_ZONE, "default")
        return "UTC" if found in ("default", None) else found

    def set_local_timezone(self, timezone_id: str) -> None:
        """Set the time zone of TIMESTAMP_LTZ."""
        if not isinstance(timezone_id, str):
            raise TypeError(f"a time zone is a text such as Europe/Warsaw, not {timezone_id!r}")
        self._configuration.set_string(_TIME_ZONE, timezone_id)

    def set_idle_state_retention(self, duration: datetime.timedelta | Duration | Any) -> None:
        """Set how long state of keys without rows is kept."""
        ms = (
            duration // datetime.timedelta(milliseconds=1)
            if isinstance(duration, datetime.timedelta)
            else duration.to_millis()
        )
        self._configuration.set_string(_TTL, f"{ms} ms")

    def get_idle_state_retention(self) -> datetime.timedelta:
        """Return how long state of keys without rows is kept; 0: for ever."""
        text = self._configuration.get_string(_TTL, "0 ms")
        return datetime.timedelta(milliseconds=parse(ValueKind.DURATION, text))

    def get_configuration(self) -> Configuration:
        """Return the options."""
        return self._configuration

    def add_configuration(self, configuration: Configuration) -> None:
        """Set all options of another configuration."""
        self._configuration.add_all(configuration)

    def to_map(self) -> dict[str, str]:
        """Return the options that are set."""
        return self._configuration.to_dict()

    def get_sql_dialect(self) -> SqlDialect:
        """Return the language of statements."""
        return SqlDialect.DEFAULT

    def set_sql_dialect(self, sql_dialect: SqlDialect) -> None:
        """Set the language of statements, which can be Flink's only.

        Raises:
            UnsupportedError: for HIVE.
        """
        if sql_dialect is not SqlDialect.DEFAULT:
            raise UnsupportedError("the dialect of Hive is not supported")

    def get_max_generated_code_length(self) -> int:
        """Return the number that was set, which has no effect: no code of Java is generated."""
        return self._configuration.get_integer(_CODE_LENGTH, _DEFAULT_CODE_LENGTH)

    def set_max_generated_code_length(self, max_generated_code_length: int) -> None:
        """Set a number that has no effect: no code of Java is generated."""
        if not isinstance(max_generated_code_length, int):
            raise TypeError(f"a length is an int, not {max_generated_code_length!r}")
        self._configuration.set_integer(_CODE_LENGTH, max_generated_code_length)

    def set_python_executable(self, python_exec: str) -> None:
        """Set the Python interpreter of the workers, if the job starts the Spark session."""
        self._configuration.set_string(PYTHON_EXECUTABLE.key, python_exec)

    def get_python_executable(self) -> str | None:
        """Return the Python interpreter of the workers; None: it is not set."""
        return self.get(PYTHON_EXECUTABLE.key, None)
