"""How a user's own modules reach the workers: by their folders, or within the program.

Workers of a local session get the driver's module path (see ``interpreter``). A module that is not
on any path, loaded from a file by a test runner or a notebook, travels inside the program.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle


def user_paths() -> list[str]:
    """The folders on the module path that are not the interpreter's own, absolute, in order."""
    own = tuple(os.path.join(path, "") for path in _interpreter_paths())
    found: dict[str, None] = {}
    for entry in sys.path:
        path = os.path.abspath(entry or os.getcwd())
        if not os.path.join(path, "").startswith(own) and Path(path).is_dir():
            found[path] = None
    return list(found)


def dumps(value: Any) -> bytes:
    """The value pickled, with what it uses of modules that no path leads to."""
    with _by_value(_pathless_modules()):
        data: bytes = cloudpickle.dumps(value)
        return data


def _interpreter_paths() -> list[str]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return [os.path.abspath(sysconfig.get_paths()[name]) for name in names]


def _pathless_modules() -> list[ModuleType]:
    own = tuple(_interpreter_paths())
    findable: dict[str, bool] = {}
    found = []
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name == "__main__" or not isinstance(file, str) or file.startswith(own):
            continue
        root = name.partition(".")[0]
        if root == "headrace":
            continue
        if root not in findable:
            findable[root] = PathFinder.find_spec(root) is not None
        if not findable[root]:
            found.append(module)
    return found


@contextmanager
def _by_value(modules: list[ModuleType]) -> Iterator[None]:
    already = cloudpickle.list_registry_pickle_by_value()
    new = [module for module in modules if module.__name__ not in already]
    for module in new:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in new:
            cloudpickle.unregister_pickle_by_value(module)
