"""What a configuration key is: its type, its default, what it does."""

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
    """A key of the configuration. ``T`` is what ``parse`` gives: see ``ValueKind``."""

    key: str
    kind: ValueKind
    default: T
    description: str = ""
    choices: tuple[str, ...] = ()
    fallback_keys: tuple[str, ...] = ()
    """Older names, read where ``key`` is not set."""
    has_effect: bool = True
    """False: accepted, so that programs run, and without effect here."""

    def parse(self, value: Any) -> T:
        """The value in the option's type.

        Raises:
            ConfigurationError: it does not parse.
        """
        try:
            parsed: T = parse(self.kind, value, self.choices)
        except ValueError as error:
            raise ConfigurationError(
                f"{self.key} is {value!r}", hint=f"it should be {error}"
            ) from None
        return parsed


class ConfigOptions:
    """Builds options: ``ConfigOptions.key("a.b").int_type().default_value(3)``."""

    @staticmethod
    def key(key: str) -> OptionBuilder:
        """A builder for the option of that key."""
        return OptionBuilder(key)


class OptionBuilder:
    """An option that still lacks its type."""

    def __init__(self, key: str) -> None:
        self._key = key

    def boolean_type(self) -> TypedConfigOptionBuilder[bool]:
        """True or false."""
        return TypedConfigOptionBuilder(self._key, ValueKind.BOOLEAN)

    def int_type(self) -> TypedConfigOptionBuilder[int]:
        """An int of 32 bits."""
        return TypedConfigOptionBuilder(self._key, ValueKind.INT)

    def long_type(self) -> TypedConfigOptionBuilder[int]:
        """An int of 64 bits."""
        return TypedConfigOptionBuilder(self._key, ValueKind.LONG)

    def float_type(self) -> TypedConfigOptionBuilder[float]:
        """A float; unlike in Flink of 64 bits."""
        return TypedConfigOptionBuilder(self._key, ValueKind.DOUBLE)

    def double_type(self) -> TypedConfigOptionBuilder[float]:
        """A float."""
        return TypedConfigOptionBuilder(self._key, ValueKind.DOUBLE)

    def string_type(self) -> TypedConfigOptionBuilder[str]:
        """A string."""
        return TypedConfigOptionBuilder(self._key, ValueKind.STRING)


class TypedConfigOptionBuilder(Generic[T]):
    """An option that still lacks its default."""

    def __init__(self, key: str, kind: ValueKind, choices: Sequence[str] = ()) -> None:
        self._key = key
        self._kind = kind
        self._choices = tuple(choices)

    def default_value(self, value: T) -> ConfigOption[T]:
        """The option, with this value where none is set."""
        return ConfigOption(self._key, self._kind, value, choices=self._choices)

    def no_default_value(self) -> ConfigOption[T | None]:
        """The option, None where none is set."""
        return ConfigOption(self._key, self._kind, None, choices=self._choices)


# PyFlink nests the builders in ConfigOptions.
ConfigOptions.OptionBuilder = OptionBuilder  # type: ignore[attr-defined]
ConfigOptions.TypedConfigOptionBuilder = TypedConfigOptionBuilder  # type: ignore[attr-defined]
