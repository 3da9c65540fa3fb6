"""Modules of functions: there is one, with Flink's functions."""

from __future__ import annotations

from headrace.common._unsupported import unsupported

__all__ = ["HiveModule", "Module", "ModuleEntry"]

Module = unsupported("headrace.table.module.Module", "functions come from one table of functions")
HiveModule = unsupported("headrace.table.module.HiveModule", "there is no Hive")


class ModuleEntry:
    """The name of a module, and whether its functions are used."""

    def __init__(self, name: str, used: bool) -> None:
        self._name = name
        self._used = used

    def name(self) -> str:
        """Return the name."""
        return self._name

    def used(self) -> bool:
        """Return whether its functions are used."""
        return self._used

    def __repr__(self) -> str:
        return f"ModuleEntry(name={self._name}, used={self._used})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModuleEntry) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self._name, self._used))
