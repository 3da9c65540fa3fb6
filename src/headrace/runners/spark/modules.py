"""How a user's modules reach the workers: by their module path, or in the pickled program.

Workers of a session made by Headrace have the module path that the driver had (see
``interpreter``); other local workers have the working directory and ``PYTHONPATH``. Modules from
elsewhere, or loaded by a test runner or a notebook, are pickled with the program. On a cluster all
of the program's modules are, except those that Spark brings (``spark.submit.pyFiles``); installed
packages are expected to be installed there too.
"""

from __future__ import annotations

import functools
import os
import site
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle
from pyspark import SparkFiles
from pyspark.sql import SparkSession

from headrace.runners import program_classes
from headrace.runners.dependencies import activation
from headrace.runners.dependencies.environment import ENVIRONMENT_VARIABLE, PACKAGES
from headrace.runners.spark.query.shipped_dependencies import ShippedDependencies
from headrace.runtime.program import JobProgram

_session_folders: dict[str, list[str]] = {}


def user_paths() -> list[str]:
    """Return the absolute folders on the module path, without the interpreter's, in order."""
    interpreter_folders = tuple(os.path.join(path, "") for path in _interpreter_paths())
    folders: dict[str, None] = {}
    for entry in sys.path:
        path = os.path.abspath(entry or os.getcwd())
        if not os.path.join(path, "").startswith(interpreter_folders) and Path(path).is_dir():
            folders[path] = None
    return list(folders)


def worker_module_folders(spark: SparkSession) -> list[str]:
    """Return the module folders of a session's workers, without those of the interpreter."""
    context = spark.sparkContext
    session_folders = _session_folders.get(context.applicationId or "")
    if session_folders is not None:
        return [os.getcwd(), *session_folders]
    if not is_local(context.master or ""):
        root = SparkFiles.getRootDirectory()
        brought = [os.path.join(root, name) for name in context._python_includes or []]
        return [root, *brought]
    jvm: Any = context._jvm
    inherited = jvm.System.getenv("PYTHONPATH") or ""
    return [os.getcwd(), *filter(None, inherited.split(os.pathsep))]


def is_local(master: str) -> bool:
    """Return whether a Spark master runs tasks in the driver's JVM."""
    return master == "local" or master.startswith("local[")


def record_session(spark: SparkSession, folders: Sequence[str]) -> None:
    """Record that this process made a session, and the folders on its workers' module path."""
    _session_folders[spark.sparkContext.applicationId or ""] = list(folders)


def dumps(
    value: Any,
    folders: Sequence[str],
    used_by: Any = None,
    provided: Sequence[str] = (),
    *,
    secrets: bool = True,
) -> bytes:
    """Pickle a value, with those of its modules that are in none of the workers' folders.

    ``used_by`` and ``secrets``: see ``program_classes.dumps``. ``provided``: entries of the module
    path that workers have for this job only. Modules found there are imported there, even if the
    driver has them from elsewhere.
    """
    with _pickled_by_value(_modules_outside(folders, provided)):
        return program_classes.dumps(value, used_by, secrets=secrets)


def program_data(
    spark: SparkSession, program: JobProgram, dependencies: ShippedDependencies
) -> bytes:
    """Return a program for the workers of a session, pickled."""
    provided = activation.module_path_entries(dependencies.driver_folder)
    staying = [source.source for source in program.sources]
    return dumps(program.for_workers(), worker_module_folders(spark), staying, provided)


_ANY_PATH = ("",)
"""A prefix of any path."""


def _interpreter_paths() -> list[str]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    packaged = os.environ.get(ENVIRONMENT_VARIABLE)
    paths = [sysconfig.get_paths()[name] for name in names]
    return [*map(os.path.abspath, paths), *([os.path.join(packaged, PACKAGES)] if packaged else ())]


@functools.cache
def _installed_paths() -> tuple[str, ...]:
    """Return the folders with installed packages: the interpreter's, and all that ``site`` adds.

    That includes packages of other environments that this one includes.
    """
    sites = [*site.getsitepackages()]
    if site.ENABLE_USER_SITE:
        sites.append(site.getusersitepackages())
    listed = [path for folder in sites for path in sorted(Path(folder).glob("*.pth"))]
    lines = [(p.parent, x.strip()) for p in listed for x in p.read_text("utf-8").splitlines()]
    named = [os.path.join(parent, line) for parent, line in lines if line]
    return (*_interpreter_paths(), *sites, *filter(os.path.isdir, named))


def _modules_outside(folders: Sequence[str], provided: Sequence[str] = ()) -> list[ModuleType]:
    """Return the loaded modules that workers with the given folders cannot find.

    A module counts by its own name, to which pickles refer. Other names in ``sys.modules`` are
    aliases.
    """
    installed = _installed_paths()
    path = [*folders, *installed]
    inside = tuple(os.path.join(_real_path(folder), "") for folder in installed)
    paths_by_root: dict[str, tuple[str, ...] | None] = {}
    outside: dict[str, ModuleType] = {}
    for entry in list(sys.modules.values()):
        name = getattr(entry, "__name__", None)
        module = sys.modules.get(name) if isinstance(name, str) else None
        file = getattr(module, "__file__", None)
        if name == "__main__" or not isinstance(file, str) or not isinstance(module, ModuleType):
            continue
        root = module.__name__.partition(".")[0]
        if root == "headrace" or _real_file_path(file).startswith(inside):
            continue
        if root not in paths_by_root:
            is_provided = provided and PathFinder.find_spec(root, [*provided]) is not None
            paths_by_root[root] = _ANY_PATH if is_provided else _package_paths(root, path)
        paths = paths_by_root[root]
        if paths is None or not _real_file_path(file).startswith(paths):
            outside[module.__name__] = module
    return [*outside.values()]


def _package_paths(root: str, path: list[str]) -> tuple[str, ...] | None:
    """Return the paths of a package or module on the path; None if it is not found."""
    spec = PathFinder.find_spec(root, path)
    if spec is None:
        return None
    if spec.submodule_search_locations is not None:
        return tuple(
            os.path.join(_real_path(folder), "") for folder in spec.submodule_search_locations
        )
    return None if spec.origin is None else (_real_file_path(spec.origin),)


def _real_file_path(file: str) -> str:
    return os.path.join(_real_path(os.path.dirname(file)), os.path.basename(file))


@functools.cache
def _real_path(folder: str) -> str:
    """Return the folder without symbolic links, by which environments may be reached."""
    return os.path.realpath(folder)


@contextmanager
def _pickled_by_value(modules: list[ModuleType]) -> Iterator[None]:
    already = cloudpickle.list_registry_pickle_by_value()
    new = [module for module in modules if module.__name__ not in already]
    for module in new:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in new:
            cloudpickle.unregister_pickle_by_value(module)
