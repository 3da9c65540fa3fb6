"""An import hook that makes ``import pyflink`` import Headrace, for unchanged PyFlink programs.

``pyflink.datastream`` and its submodules are Headrace's modules under a second name, so classes are
identical. The hook is the first import finder: an installed PyFlink is ignored. If it is installed
when a job starts, the job's workers install it too.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from headrace.errors import UnsupportedModuleError

PYFLINK_VERSION = "2.3.0"
"""The version of PyFlink whose names are provided."""

_ROOT = "pyflink"
_MIRRORED_PACKAGES = ("common", "datastream", "metrics", "table", "util")
"""Packages with the same path in Headrace."""

_JVM = "Flink's JVM is not there"
_REASONS = {
    "cep": "PyFlink has no patterns of events; import headrace.cep",
    "dataset": "Flink removed the DataSet API; use the DataStream API in batch mode",
    "java_gateway": _JVM,
    "fn_execution": "these are PyFlink's own workers; Spark has others",
    "find_flink_home": "there is no Flink installation",
    "pyflink_gateway_server": _JVM,
    "pyflink_callback_server": _JVM,
    "shell": "run `python` and import headrace",
    "testing": "headrace.testing has what tests of jobs need",
    "ml": "Flink ML is a library of its own, on the Table API",
}


def install() -> None:
    """Make ``pyflink`` mean Headrace in this process, for all later imports."""
    if is_installed():
        return
    for name in [name for name in sys.modules if name.partition(".")[0] == _ROOT]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Finder())


def is_installed() -> bool:
    """Return whether the hook is installed."""
    return any(isinstance(finder, _Finder) for finder in sys.meta_path)


def uninstall() -> None:
    """Undo ``install``."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
    for name in [name for name in sys.modules if name.partition(".")[0] == _ROOT]:
        del sys.modules[name]


def headrace_module_name(name: str) -> str:
    """Return the name of Headrace's module for one of PyFlink's.

    Raises:
        UnsupportedModuleError: Headrace has no such module; the message says why.
    """
    _, *parts = name.split(".")
    if parts and parts[0] in _MIRRORED_PACKAGES:
        return ".".join(["headrace", *parts])
    reason = _REASONS.get(parts[0] if parts else "", "Headrace has no such module")
    raise UnsupportedModuleError(f"{name} is not supported: {reason}", name=name)


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == _ROOT:
            return ModuleSpec(_ROOT, _Root(), is_package=True)
        if fullname == f"{_ROOT}.version":
            return ModuleSpec(fullname, _Version())
        if not fullname.startswith(f"{_ROOT}."):
            return None
        headrace_module = headrace_module_name(fullname)
        if find_spec(headrace_module) is None:
            raise UnsupportedModuleError(
                f"{fullname} is not supported: Headrace has no module {headrace_module}",
                name=fullname,
            )
        return ModuleSpec(fullname, _Alias(headrace_module))


class _Version(Loader):
    """Loads a module that has PyFlink's version."""

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__version__"] = PYFLINK_VERSION


class _Root(_Version):
    """Loads the package ``pyflink``."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        module.__dict__["__all__"] = ["__version__"]


class _Alias(Loader):
    """Loads an existing module under a second name, and keeps its attributes unchanged."""

    def __init__(self, headrace_module: str) -> None:
        self._headrace_module = headrace_module
        self._module_attributes: dict[str, Any] = {}

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(self._headrace_module)
        self._module_attributes = {
            name: getattr(module, name, None) for name in ("__spec__", "__loader__")
        }
        return module

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(self._module_attributes)  # the import has overwritten them
