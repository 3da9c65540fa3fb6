"""Activates the dependencies of the job that runs in this process, one job at a time."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType

from headrace.runners.dependencies.folder import PATH, working_folder


@dataclass
class _Activation:
    """What was changed in this process for a job's dependencies, to be undone later."""

    folder: str
    entries: list[str]
    previous_folder: str | None = None
    """The working directory before, if the job has one of its own."""
    modules: dict[str, ModuleType] = field(default_factory=dict)
    """Modules imported from the folder, kept while another job is active."""


_activations: dict[tuple[str, tuple[str, ...]], _Activation] = {}
_active: list[_Activation] = []
"""Has at most one element."""


def activate(folder: str, extra_paths: Sequence[str] = (), *, changes_folder: bool = True) -> None:
    """Make the modules and files in a folder of dependencies available in this process.

    The dependencies of the previous job are deactivated; its modules are kept until it runs again.
    ``folder``: "" for no dependencies. ``extra_paths``: further entries of the module path.
    ``changes_folder``: whether to change to the job's working directory.
    """
    key = folder, tuple(extra_paths)
    if _active and _activations.get(key) is _active[0]:
        return
    deactivate()
    if not folder and not extra_paths:
        return
    activation = _activations.setdefault(
        key, _Activation(folder, [*module_path_entries(folder), *extra_paths])
    )
    sys.path[:0] = activation.entries
    sys.modules.update(activation.modules)
    importlib.invalidate_caches()
    work = working_folder(folder or None)
    if work is not None and changes_folder:
        activation.previous_folder = os.getcwd()
        os.chdir(work)
    _active.append(activation)


def deactivate() -> None:
    """Undo ``activate``."""
    if not _active:
        return
    activation = _active.pop()
    for entry in activation.entries:
        if entry in sys.path:
            sys.path.remove(entry)
    if activation.previous_folder is not None:
        os.chdir(activation.previous_folder)
        activation.previous_folder = None
    if activation.folder:
        folder_prefix = os.path.join(os.path.realpath(activation.folder), "")
        activation.modules = {n: m for n, m in sys.modules.items() if _lies_in(m, folder_prefix)}
        for name in activation.modules:
            del sys.modules[name]


@contextmanager
def activated(folder: str, extra_paths: Sequence[str] = ()) -> Iterator[None]:
    """Activate a folder of dependencies within a ``with`` block."""
    activate(folder, extra_paths)
    try:
        yield
    finally:
        deactivate()


def module_path_entries(folder: str) -> list[str]:
    """Return the entries that a folder of dependencies adds to the module path; none for ""."""
    if not folder:
        return []
    with open(os.path.join(folder, PATH), encoding="utf-8") as lines:
        return [os.path.join(folder, line.rstrip("\n")) for line in lines]


def _lies_in(module: ModuleType, folder: str) -> bool:
    # Not by getattr: a module's ``__getattr__`` may import other modules.
    attributes = getattr(module, "__dict__", {})
    paths = [attributes.get("__file__"), *(attributes.get("__path__") or [])]
    return any(isinstance(p, str) and os.path.realpath(p).startswith(folder) for p in paths)
