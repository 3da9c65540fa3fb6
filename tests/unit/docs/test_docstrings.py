"""Every public method says what it does: itself, or in the contract that it carries out."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from types import FunctionType
from typing import Any

import headrace

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(headrace.__path__, "headrace.")
    if not module.name.endswith("__main__")
)


def undocumented(kind: type) -> list[str]:
    """The public methods that a class defines without a docstring, its own or an inherited one."""
    return [
        f"{kind.__qualname__}.{name}"
        for name, member in vars(kind).items()
        if not name.startswith("_") and getattr(_function(member), "__name__", None) == name
        if not any(_doc(vars(base).get(name)) for base in kind.__mro__)
    ]


def _function(member: Any) -> FunctionType | None:
    if isinstance(member, property):
        member = member.fget
    member = inspect.unwrap(getattr(member, "__func__", member))
    return member if isinstance(member, FunctionType) else None


def _doc(member: Any) -> str | None:
    function = _function(member)
    return None if function is None else function.__doc__


def classes(holder: Any, module: str) -> Iterator[type]:
    for name, member in vars(holder).items():
        if isinstance(member, type) and member.__module__ == module and name[:1] != "_":
            yield member
            yield from classes(member, module)


def test_public_methods_are_documented() -> None:
    found = [
        f"{name}.{method}"
        for name in MODULES
        for kind in classes(import_module(name), name)
        for method in undocumented(kind)
    ]
    assert found == []


class Contract:
    def told(self) -> None:
        """What it is."""

    @property
    def shown(self) -> int:
        """How many."""
        return 0


class Carried(Contract):
    def told(self) -> None: ...

    @property
    def shown(self) -> int:
        return 1

    @staticmethod
    def new() -> None: ...

    @property
    def more(self) -> int:
        return 2

    def _private(self) -> None: ...


def test_what_a_contract_says_need_not_be_said_again() -> None:
    assert undocumented(Carried) == ["Carried.new", "Carried.more"]
