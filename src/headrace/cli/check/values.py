"""What an expression of a program is known to be, without running it."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from headrace.errors import UnsupportedModuleError
from headrace.runners.pyflink_imports import headrace_module_name

PACKAGES = ("pyflink", "headrace")


@dataclass(frozen=True)
class Package:
    """A module of PyFlink's or Headrace's; ``path`` is its name as the program has it."""

    path: str

    def module(self) -> Any:
        """Headrace's module.

        Raises:
            ImportError: there is none; for PyFlink's the message says why.
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
    """A class, function or constant of the package, as it was named."""

    found: Any
    name: str


@dataclass(frozen=True)
class Instance:
    """An object of a class of the package, or of the program's own class that derives from it."""

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
    """A class of the program that derives from one of the package."""

    base: type
    attributes: Any


@dataclass(frozen=True)
class ProgramFunction:
    """A function of the program, and what it is known to return (a list of one, once it is)."""

    returns: Any


@dataclass(frozen=True)
class ProgramModule:
    """A module of the program: its names."""

    names: Any


class ThirdParty:
    """Something of another library: nothing of PyFlink's."""


def result_of_call(value: Any) -> Any:
    """What a call of a value gives; None where it is not known."""
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
    """An object of the class that a function's annotation names."""
    return instance_annotated(function, "return", owner)


def instance_annotated(function: Any, parameter: str, owner: type | None) -> Any:
    """An object of the class that the annotation of a parameter (or ``return``) names."""
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
    """A class that annotations name without importing it when the program runs."""
    for module in ("datastream", "datastream.data_stream", "datastream.state", "common", "metrics"):
        found = getattr(import_module(f"headrace.{module}"), name, None)
        if found is not None:
            return found
    return None
