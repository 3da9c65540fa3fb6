"""Classes whose objects were pickled when they were in another module.

Their earlier places are filled with them, so that unpickling finds them without another step.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from functools import reduce
from types import ModuleType
from typing import Any

from headrace.errors import ConfigurationError


def use_moved_classes(moved: Mapping[str, str]) -> None:
    """Put modules and classes also where they were before, by dotted names: before, now.

    Raises:
        ConfigurationError: there is nothing of the name of now.
    """
    for before, now in moved.items():
        found = _find(now)
        if found is None:
            raise ConfigurationError(
                f"headrace.state.moved-classes has {before}:{now}, and there is no {now}",
                hint="give the place of a module or class as it can be imported",
            )
        if isinstance(found, ModuleType):
            _make_packages(before.rpartition(".")[0])
            sys.modules.setdefault(before, found)
            continue
        module, _, name = before.rpartition(".")
        _make_packages(module)
        if not hasattr(sys.modules[module], name):
            setattr(sys.modules[module], name, found)


def _find(name: str) -> Any:
    """Return what has a dotted name: a module, or something in one."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:count]))
            return reduce(getattr, parts[count:], module)
        except (ModuleNotFoundError, AttributeError):
            continue
    return None


def _make_packages(name: str) -> None:
    """Import a module; make it, and the packages that it is in, if they are gone."""
    parts = name.split(".")
    for count in range(1, len(parts) + 1 if name else 0):
        module = ".".join(parts[:count])
        if module not in sys.modules:
            try:
                importlib.import_module(module)
            except ModuleNotFoundError:
                sys.modules[module] = ModuleType(module)
