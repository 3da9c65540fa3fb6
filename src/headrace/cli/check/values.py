"""Inferred values of a program's expressions."""

from __future__ import annotations

import inspect
import re
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from headrace.errors import UnsupportedModuleError
from headrace.runners.pyflink_imports import headrace_module_name

PACKAGES = ("pyflink", "headrace")

_WITH_CLASSES = (
    "datastream",
    "datastream.data_stream",
    "datastream.state",
    "common",
    "metrics",
)
_TABLES = ("table", "table.table", "table.catalog", "table.types")


@dataclass(frozen=True)
class Package:
    """A module of PyFlink or Headrace; ``path`` is its name in the program."""

    path: str

    def module(self) -> Any:
        """Import Headrace's module.

        Raises:
            ImportError: there is no such module; for one of PyFlink the message has the reason.
        """
        if self.path in ("pyflink", "headrace"):
            return import_module("headrace")
        if self.path == "pyflink.version":
            return import_module("headrace.runners.pyflink_imports")
        own = headrace_module_name(self.path) if self.path.startswith("pyflink.") else self.path
        if find_spec(own) is None:
            raise UnsupportedModuleError(f"Headrace has no module {own}", name=self.path)
        return import_module(own)


@dataclass(frozen=True)
class ApiObject:
    """A class, function or constant of the package, with its name in the program."""

    found: Any
    name: str


@dataclass(frozen=True)
class Instance:
    """An instance of a class of the package, or of a class of the program derived from one."""

    kind: type
    attributes: Any = None
    """The program's own class: a dictionary of what is known of its attributes."""


@dataclass(frozen=True)
class Method:
    """A method of a class of the package."""

    kind: type
    name: str


@dataclass(frozen=True)
class ProgramClass:
    """A class of the program that is derived from one of the package."""

    base: type
    attributes: Any


@dataclass(frozen=True)
class ProgramFunction:
    """A function of the program, and its inferred result (a list with one value, when known)."""

    returns: Any


@dataclass(frozen=True)
class ProgramModule:
    """A module of the program with its names."""

    names: Any


class ThirdParty:
    """An object of another library."""


def result_of_call(value: Any) -> Any:
    """Return the result of calling a value; None if it is unknown."""
    if isinstance(value, ApiObject) and isinstance(value.found, type):
        return Instance(value.found)
    if isinstance(value, ApiObject):
        return instance_returned_by(value.found, None)
    if isinstance(value, ProgramClass):
        return Instance(value.base, value.attributes)
    if isinstance(value, ProgramFunction):
        return value.returns[0] if value.returns else None
    if isinstance(value, Method):
        function = inspect.getattr_static(value.kind, value.name, None)
        return instance_returned_by(getattr(function, "__func__", function), value.kind)
    return value if isinstance(value, ThirdParty) else None


def instance_returned_by(function: Any, owner: type | None) -> Any:
    """Return an instance of the class in a function's return annotation."""
    return instance_annotated(function, "return", owner)


def instance_annotated(function: Any, parameter: str, owner: type | None) -> Any:
    """Return an instance of the class in the annotation of a parameter (or ``return``)."""
    annotation = getattr(function, "__annotations__", {}).get(parameter)
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__qualname__", "")
    for path in re.findall(r"[A-Za-z_][\w.]*", name):
        if path == "Self":
            return None if owner is None else Instance(owner)
        kind = _class_of(path, getattr(function, "__globals__", {}))
        if kind is not None:
            return Instance(kind)
    return None


def _class_of(path: str, names: dict[str, Any]) -> type | None:
    first, *rest = path.split(".")
    found = names.get(first) or _api_class(first)
    for part in rest:
        found = getattr(found, part, None)
    ours = isinstance(found, type) and found.__module__.startswith("headrace.")
    return found if ours else None


def _api_class(name: str) -> Any:
    """Return a class that annotations use without an import at runtime."""
    modules = [*_WITH_CLASSES, *(_TABLES if "headrace.table" in sys.modules else ())]
    for module in modules:
        found = getattr(import_module(f"headrace.{module}"), name, None)
        if found is not None:
            return found
    return None
