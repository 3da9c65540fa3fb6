"""Sends this version of Headrace to the executors of a cluster, which need no installed Headrace.

Headrace is pure Python, so Spark can send it as a zip file. The zip file is first on the workers'
module path, because an installed Headrace of another version could not read this version's data.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from importlib.util import cache_from_source
from pathlib import Path

from pyspark.sql import SparkSession

import headrace
from headrace.runners.dependencies.environment import ENVIRONMENT_VARIABLE, LAUNCHER
from headrace.runners.spark.modules import is_local
from headrace.runners.temporary_files import new_subfolder

_NOT_NEEDED = ("cli", "dev")
"""Subpackages that run only on the machine where the program is started."""

_shipped: set[str] = set()
"""The ids of the Spark applications that have the package."""

_files: list[Path] = []
"""The zip file of this process; empty until it is made."""


def ship_own_package(spark: SparkSession) -> None:
    """Add Headrace's zip file to a session's Spark application, unless it has it.

    Nothing is added in a local session, or if the executors run in an archive of Headrace.
    """
    context = spark.sparkContext
    application = context.applicationId or ""
    folder = Path(headrace.__file__).parent
    if runs_in_environment(context.pythonExec):
        return
    # If Headrace itself is in a zip file, the user has submitted that file with the program.
    if is_local(context.master or "") or application in _shipped or not folder.is_dir():
        return
    if not _files:
        _files.append(write_package(folder, new_subfolder("package-")))
    context.addPyFile(str(_files[0]))
    _shipped.add(application)


def runs_in_environment(python: str) -> bool:
    """Return whether this process and the executors run in an archive of ``headrace package``.

    ``python``: the executors' interpreter.
    """
    folder = os.environ.get(ENVIRONMENT_VARIABLE)
    if not folder or not os.path.isfile(python):
        return False
    return os.path.samefile(python, os.path.join(folder, LAUNCHER))


def write_package(folder: Path, target: Path) -> Path:
    """Write a package into a zip file, and return its path; the name contains a digest.

    Compiled modules are next to their sources, so that workers need not compile them.
    """
    digest = hashlib.sha256()
    draft = target / "draft.zip"
    with zipfile.ZipFile(draft, "w", strict_timestamps=False) as packed:
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(folder.parent)
            if path.is_dir() or "__pycache__" in inside.parts or inside.parts[1] in _NOT_NEEDED:
                continue
            digest.update(str(inside).encode() + b"\0" + path.read_bytes())
            packed.write(path, inside)
            compiled = Path(cache_from_source(str(path))) if path.suffix == ".py" else None
            if compiled is not None and compiled.is_file():
                packed.write(compiled, inside.with_suffix(".pyc"))
    return draft.rename(target / f"headrace-{digest.hexdigest()[:16]}.zip")
