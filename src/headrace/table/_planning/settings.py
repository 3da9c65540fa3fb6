"""SET and RESET: the options of a session."""

from __future__ import annotations

from headrace.common._options import catalogue as options
from headrace.common.configuration import Configuration
from headrace.errors import SqlValidationError
from headrace.sql.rel import Column
from headrace.sql.types import STRING
from headrace.table.table_result import TableResult, content_of, done


class SessionSettings:
    """The options of a session, which RESET puts back to what they were at its start.

    ``fixed_mode``: whether SET refuses to change the mode, as in Flink's TableEnvironment.
    """

    fixed_mode = True

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._initial = Configuration(configuration)

    def show(self) -> TableResult:
        """Return the result of SET: all options that are set."""
        rows = [[key, value] for key, value in sorted(self._configuration.to_dict().items())]
        return content_of((Column("key", STRING), Column("value", STRING)), rows)

    def set(self, key: str, value: str) -> TableResult:
        """Set an option.

        Raises:
            ConfigurationError: the key is unknown, or the value does not parse.
            SqlValidationError: the mode of an environment does not change.
        """
        if key == options.RUNTIME_MODE.key:
            self._check_mode(value)
        self._configuration.set_string(key, value)
        return done()

    def reset(self, key: str | None) -> TableResult:
        """Put an option, or all of them, back to what they were at the session's start."""
        known = [*self._configuration.key_set()] if key is None else [key]
        for each in known:
            before = self._initial.value_of(each)
            if before is None:
                self._configuration.remove_config(each)
            else:
                self._configuration.set_string(each, before)
        if key is None:
            self._configuration.add_all(self._initial)
        return done()

    def _check_mode(self, value: str) -> None:
        wanted = options.RUNTIME_MODE.parse(value)
        given = options.read(self._configuration, options.RUNTIME_MODE)
        if wanted == "AUTOMATIC":
            raise SqlValidationError(
                f"{options.RUNTIME_MODE.key} cannot be AUTOMATIC", hint="'batch' or 'streaming'"
            )
        if wanted != given and self.fixed_mode:
            raise SqlValidationError(
                f"the mode of an environment is set when it is made: this one is {given}",
                hint="EnvironmentSettings.in_batch_mode(), or in_streaming_mode()",
            )
