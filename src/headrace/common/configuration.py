"""``Configuration``: the settings of a job by key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.common._options import catalogue as options
from headrace.common._options.values import ValueKind, parse, split_list, text_of
from headrace.errors import ConfigurationError

__all__ = ["Configuration"]


class Configuration:
    """Settings by key. All keys, with types and defaults, are in docs/configuration.md.

    Raises:
        ConfigurationError: from every ``set_…`` method, for an unknown key or a value that does
            not parse; from every ``get_…`` method, for a value of another type.
    """

    def __init__(self, other: Configuration | None = None) -> None:
        self._values: dict[str, Any] = {} if other is None else dict(other._values)

    @classmethod
    def from_dict(cls, map: Mapping[str, Any]) -> Configuration:
        """Return a configuration with the entries of ``map``: text, or typed (int, timedelta, …).

        Raises:
            ConfigurationError: a key is unknown, or a value does not parse.
        """
        result = cls()
        for key, value in map.items():
            result._set(key, value)
        return result

    def _set(self, key: str, value: Any) -> Configuration:
        options.check(key, value)
        self._values[key] = value
        return self

    def value_of(self, key: str) -> Any | None:
        """Return the value of ``key`` exactly as it was set, not parsed; None if it is not set."""
        return self._values.get(key)

    def _get(self, key: str, kind: ValueKind, default_value: Any) -> Any:
        value = self._values.get(key)
        if value is None:
            return default_value
        try:
            return parse(kind, value)
        except ValueError as error:
            raise ConfigurationError(f"{key} is {value!r}, not {error}") from None

    def get_string(self, key: str, default_value: str) -> str:
        """Return the value as text, or ``default_value`` if it is not set."""
        value = self._values.get(key)
        return default_value if value is None else text_of(value)

    def set_string(self, key: str, value: str) -> Configuration:
        """Set a value as text, which must parse as the key's type."""
        return self._set(key, value)

    def get_integer(self, key: str, default_value: int) -> int:
        """Return the value as an int, or ``default_value`` if it is not set."""
        result: int = self._get(key, ValueKind.LONG, default_value)
        return result

    def set_integer(self, key: str, value: int) -> Configuration:
        """Set ``key`` to an int."""
        return self._set(key, value)

    def get_boolean(self, key: str, default_value: bool) -> bool:
        """Return the value as a bool, or ``default_value`` if it is not set."""
        result: bool = self._get(key, ValueKind.BOOLEAN, default_value)
        return result

    def set_boolean(self, key: str, value: bool) -> Configuration:
        """Set ``key`` to a bool."""
        return self._set(key, value)

    def get_float(self, key: str, default_value: float) -> float:
        """Return the value as a float, or ``default_value`` if it is not set."""
        result: float = self._get(key, ValueKind.DOUBLE, default_value)
        return result

    def set_float(self, key: str, value: float) -> Configuration:
        """Set ``key`` to a float."""
        return self._set(key, value)

    def get_bytearray(self, key: str, default_value: bytearray) -> bytearray:
        """Return the value as a bytearray (text as UTF-8), or ``default_value`` if not set."""
        value = self._values.get(key)
        if value is None:
            return default_value
        return bytearray(value if isinstance(value, bytearray) else text_of(value).encode())

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        """Set ``key`` to a copy of the bytes."""
        return self._set(key, bytearray(value))

    @staticmethod
    def parse_list_value(value: str) -> list[str]:
        """Return the elements of a list in the form ``a;b``, ``[a, b]`` or lines of ``- a``."""
        return split_list(value) if value else []

    def key_set(self) -> set[str]:
        """Return all keys that are set."""
        return set(self._values)

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        """Add all settings to ``target_dict``, with their values unparsed, as they were set."""
        target_dict.update(self._values)

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Add all settings of another configuration, with ``prefix`` before their keys."""
        for key, value in other._values.items():
            self._set(f"{prefix or ''}{key}", value)
        return self

    def contains_key(self, key: str) -> bool:
        """Return whether the key is set."""
        return key in self._values

    def to_dict(self) -> dict[str, str]:
        """Return all settings, with values as text."""
        return {key: text_of(value) for key, value in self._values.items()}

    def remove_config(self, key: str) -> bool:
        """Remove a key; return whether it was set."""
        return self._values.pop(key, None) is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Configuration):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(frozenset(self.to_dict().items()))

    def __str__(self) -> str:
        entries = ", ".join(f"{key}={value}" for key, value in sorted(self.to_dict().items()))
        return f"{{{entries}}}"

    def __repr__(self) -> str:
        return f"Configuration({self})"
