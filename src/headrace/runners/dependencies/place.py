"""The dependencies of the job that is at work in this process: one job's at a time."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType

from headrace.runners.dependencies.folder import PATH, work_of


@dataclass
class _Place:
    """What a job's dependencies have changed here, so that it can be undone."""

    folder: str
    entries: list[str]
    outside: str | None = None
    """The working folder before, where the job has one of its own."""
    modules: dict[str, ModuleType] = field(default_factory=dict)
    """What was imported from the folder, while another job is at work."""


_known: dict[tuple[str, tuple[str, ...]], _Place] = {}
_entered: list[_Place] = []
"""At most one."""


def enter(folder: str, more: Sequence[str] = (), *, working: bool = True) -> None:
    """From now on modules and files are found in a folder of dependencies ("": in none).

    What was entered before is left: its modules are put aside for its return. ``more``: further
    entries of the module path. ``working``: its working folder becomes this process's.
    """
    at = folder, tuple(more)
    if _entered and _known.get(at) is _entered[0]:
        return
    leave()
    if not folder and not more:
        return
    place = _known.setdefault(at, _Place(folder, [*entries_of(folder), *more]))
    sys.path[:0] = place.entries
    sys.modules.update(place.modules)
    importlib.invalidate_caches()
    work = work_of(folder or None)
    if work is not None and working:
        place.outside = os.getcwd()
        os.chdir(work)
    _entered.append(place)


def leave() -> None:
    """Undo what ``enter`` did."""
    if not _entered:
        return
    place = _entered.pop()
    for entry in place.entries:
        if entry in sys.path:
            sys.path.remove(entry)
    if place.outside is not None:
        os.chdir(place.outside)
        place.outside = None
    if place.folder:
        own = os.path.join(os.path.realpath(place.folder), "")
        place.modules = {n: m for n, m in sys.modules.items() if _lies_in(m, own)}
        for name in place.modules:
            del sys.modules[name]


@contextmanager
def entered(folder: str, more: Sequence[str] = ()) -> Iterator[None]:
    """Inside the ``with`` modules and files are found in a folder of dependencies."""
    enter(folder, more)
    try:
        yield
    finally:
        leave()


def entries_of(folder: str) -> list[str]:
    """What a folder of dependencies puts on the module path; "" has nothing."""
    if not folder:
        return []
    with open(os.path.join(folder, PATH), encoding="utf-8") as lines:
        return [os.path.join(folder, line.rstrip("\n")) for line in lines]


def _lies_in(module: ModuleType, folder: str) -> bool:
    # Not by getattr: a module may import another when it is asked for a name.
    known = getattr(module, "__dict__", {})
    places = [known.get("__file__"), *(known.get("__path__") or [])]
    return any(isinstance(p, str) and os.path.realpath(p).startswith(folder) for p in places)
