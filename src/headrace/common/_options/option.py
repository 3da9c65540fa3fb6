"""``ConfigOption``: a configuration key with its type and default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from headrace.common._options.values import ValueKind, parse
from headrace.errors import ConfigurationError

__all__ = ["ConfigOption", "ConfigOptions"]

T = TypeVar("T")


@dataclass(frozen=True)
class ConfigOption(Generic[T]):
    """A configuration key with type, default and description; parsed values are of type ``T``."""

    key: str
    kind: ValueKind
    default: T
    description: str = ""
    choices: tuple[str, ...] = ()
    fallback_keys: tuple[str, ...] = ()
    """Older names of the key, read if ``key`` is not set."""
    has_effect: bool = True
    """False: the key can be set, but it has no effect on Spark."""
    least: int | None = None
    """The least number that has a meaning."""

    def parse(self, value: Any) -> T:
        """Convert a value to the option's Python type; durations become int milliseconds.

        Raises:
            ConfigurationError: the value does not parse.
        """
        try:
            parsed: T = parse(self.kind, value, self.choices)
        except ValueError as error:
            raise ConfigurationError(
                f"{self.key} is {value!r}", hint=f"it must be {error}"
            ) from None
        if self.least is not None and isinstance(parsed, int) and parsed < self.least:
            raise ConfigurationError(f"{self.key} is {value!r}", hint=f"at least {self.least}")
        return parsed


class ConfigOptions:
    """Builds options: ``ConfigOptions.key("a.b").int_type().default_value(3)``."""

    @staticmethod
    def key(key: str) -> OptionBuilder:
        """Return a builder for an option with this key."""
        return OptionBuilder(key)


class OptionBuilder:
    """Builds an option: one of the ``…_type()`` methods comes next."""

    def __init__(self, key: str) -> None:
        self._key = key

    def boolean_type(self) -> TypedConfigOptionBuilder[bool]:
        """Declare that values are booleans."""
        return TypedConfigOptionBuilder(self._key, ValueKind.BOOLEAN)

    def int_type(self) -> TypedConfigOptionBuilder[int]:
        """Declare that values are ints of 32 bits."""
        return TypedConfigOptionBuilder(self._key, ValueKind.INT)

    def long_type(self) -> TypedConfigOptionBuilder[int]:
        """Declare that values are ints of 64 bits."""
        return TypedConfigOptionBuilder(self._key, ValueKind.LONG)

    def float_type(self) -> TypedConfigOptionBuilder[float]:
        """Declare that values are floats, of 64 bits (in Flink of 32)."""
        return TypedConfigOptionBuilder(self._key, ValueKind.DOUBLE)

    def double_type(self) -> TypedConfigOptionBuilder[float]:
        """Declare that values are floats, of 64 bits."""
        return TypedConfigOptionBuilder(self._key, ValueKind.DOUBLE)

    def string_type(self) -> TypedConfigOptionBuilder[str]:
        """Declare that values are strings."""
        return TypedConfigOptionBuilder(self._key, ValueKind.STRING)


class TypedConfigOptionBuilder(Generic[T]):
    """Builds an option: its default comes next."""

    def __init__(self, key: str, kind: ValueKind, choices: Sequence[str] = ()) -> None:
        self._key = key
        self._kind = kind
        self._choices = tuple(choices)

    def default_value(self, value: T) -> ConfigOption[T]:
        """Return the option with the value that it has if none is set."""
        return ConfigOption(self._key, self._kind, value, choices=self._choices)

    def no_default_value(self) -> ConfigOption[T | None]:
        """Return the option without default: its value is None if none is set."""
        return ConfigOption(self._key, self._kind, None, choices=self._choices)


# PyFlink nests the builders in ConfigOptions.
ConfigOptions.OptionBuilder = OptionBuilder  # type: ignore[attr-defined]
ConfigOptions.TypedConfigOptionBuilder = TypedConfigOptionBuilder  # type: ignore[attr-defined]
