"""How a user's own modules reach the workers: by their folders, or within the program.

Workers of a session made here get the module path that the driver had then (see ``interpreter``);
other local workers have the working folder and ``PYTHONPATH``. A module that lies elsewhere, or was
loaded from a file by a test runner or a notebook, travels inside the program. On a cluster modules
are taken to be there, as for any PySpark job.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle
from pyspark.sql import SparkSession

from headrace.runners.spark.shipping import classes

_made_here: dict[str, list[str]] = {}


def user_paths() -> list[str]:
    """The folders on the module path that are not the interpreter's own, absolute, in order."""
    own = tuple(os.path.join(path, "") for path in _interpreter_paths())
    found: dict[str, None] = {}
    for entry in sys.path:
        path = os.path.abspath(entry or os.getcwd())
        if not os.path.join(path, "").startswith(own) and Path(path).is_dir():
            found[path] = None
    return list(found)


def folders_of_workers(spark: SparkSession) -> list[str]:
    """Where the workers of a session look for modules, apart from the interpreter's own folders."""
    context = spark.sparkContext
    made_here = _made_here.get(context.applicationId or "")
    if made_here is not None:
        return [os.getcwd(), *made_here]
    if not (context.master or "").startswith("local["):
        return user_paths()
    jvm: Any = context._jvm
    inherited = jvm.System.getenv("PYTHONPATH") or ""
    return [os.getcwd(), *filter(None, inherited.split(os.pathsep))]


def remember(spark: SparkSession, folders: Sequence[str]) -> None:
    """The session was made here, and its workers have these folders on their path."""
    _made_here[spark.sparkContext.applicationId or ""] = list(folders)


def dumps(value: Any, folders: Sequence[str], used_by: Any = None) -> bytes:
    """The value pickled, with what it uses of modules that are in none of the workers' folders.

    ``used_by``: its classes travel as well (see ``classes``).
    """
    with _by_value(_modules_outside(folders)):
        return classes.dumps(value, used_by)


def _interpreter_paths() -> list[str]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return [os.path.abspath(sysconfig.get_paths()[name]) for name in names]


def _modules_outside(folders: Sequence[str]) -> list[ModuleType]:
    own = tuple(_interpreter_paths())
    path = [*folders, *own]
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
            findable[root] = PathFinder.find_spec(root, path) is not None
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
