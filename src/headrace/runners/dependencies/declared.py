"""The dependencies that a job's configuration declares, checked on the driver's machine."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from headrace.common._options import dependencies as options
from headrace.common._options.catalogue import read
from headrace.common._options.option import ConfigOption
from headrace.common._storage.local_files import local_path
from headrace.common.configuration import Configuration
from headrace.errors import ConfigurationError

ARCHIVES = (".zip", ".jar", ".whl", ".egg", ".tar", ".tar.gz", ".tgz")
"""The supported endings of archive names."""


@dataclass(frozen=True)
class CachedFile:
    """A file that functions find under ``name`` in their working directory."""

    path: str
    name: str
    executable: bool = False


@dataclass(frozen=True)
class Dependencies:
    """The dependencies of a job's functions. All paths are local and absolute.

    ``archives``: pairs of a path and the name of the folder for its content. ``requirements``: a
    requirements file, and a folder with packages or "". ``executable``: as configured.
    """

    files: tuple[str, ...] = ()
    archives: tuple[tuple[str, str], ...] = ()
    requirements: tuple[str, str] | None = None
    cached_files: tuple[CachedFile, ...] = ()
    worker_path: tuple[str, ...] = ()
    executable: str = ""

    @property
    def needs_folder(self) -> bool:
        """Whether anything must be shipped to the workers."""
        return bool(self.files or self.archives or self.requirements or self.cached_files)


def declared_dependencies(configuration: Configuration) -> Dependencies:
    """Read the dependencies from a configuration.

    Raises:
        ConfigurationError: a file is missing, or an archive is of an unknown kind.
    """
    return Dependencies(
        files=tuple(
            _require_existing(path, options.PYTHON_FILES)
            for path in _split_by_comma(read(configuration, options.PYTHON_FILES))
        ),
        archives=tuple(_parse_archives(read(configuration, options.PYTHON_ARCHIVES))),
        requirements=_parse_requirements(read(configuration, options.PYTHON_REQUIREMENTS)),
        cached_files=tuple(
            _cached_file(text) for text in read(configuration, options.CACHED_FILES)
        ),
        worker_path=tuple(filter(None, read(configuration, options.PYTHON_PATH).split(":"))),
        executable=read(configuration, options.PYTHON_EXECUTABLE),
    )


def interpreter_of(executable: str, work: str | None) -> str:
    """Return the path of an interpreter, given as a name, a path, or a path within an archive.

    ``work``: the folder with extracted archives.

    Raises:
        ConfigurationError: there is no such interpreter.
    """
    in_archive = os.path.join(work, executable) if work else None
    path = in_archive if in_archive and os.path.isfile(in_archive) else shutil.which(executable)
    if path is None:
        raise ConfigurationError(
            f"there is no Python interpreter at {executable!r}",
            where={"option": options.PYTHON_EXECUTABLE.key},
            hint="give a path of this machine, or one within an archive: env.zip/env/bin/python",
        )
    return os.path.abspath(path)


def is_this_interpreter(executable: str) -> bool:
    """Return whether an interpreter is the one that runs this program, under any path."""
    path, this_path = shutil.which(executable), sys.executable
    if path is None:
        return False
    # A virtual environment's interpreter is a link, so the folders are compared too.
    same_folder = os.path.samefile(os.path.dirname(path), os.path.dirname(this_path))
    return same_folder and os.path.samefile(path, this_path)


def _split_by_comma(text: str) -> Iterator[str]:
    return (part.strip() for part in text.split(",") if part.strip())


def _require_existing(path: str, option: ConfigOption[str] | ConfigOption[list[str]]) -> str:
    """Return the absolute local path; raise ConfigurationError if nothing exists there."""
    local = os.path.abspath(local_path(path))
    if not os.path.exists(local):
        raise ConfigurationError(
            f"there is no file or folder {path!r}, which the job's functions need",
            where={"option": option.key, "looked for": local},
        )
    return local


def _parse_archives(text: str) -> Iterator[tuple[str, str]]:
    for part in _split_by_comma(text):
        given, _, target = part.partition("#")
        path = _require_existing(given, options.PYTHON_ARCHIVES)
        if not path.lower().endswith(ARCHIVES):
            raise ConfigurationError(
                f"{given!r} is not an archive that can be extracted",
                where={"option": options.PYTHON_ARCHIVES.key},
                hint=f"its name must end with one of {', '.join(ARCHIVES)}",
            )
        yield path, _require_inside(target or os.path.basename(path), options.PYTHON_ARCHIVES.key)


def _parse_requirements(text: str) -> tuple[str, str] | None:
    if not text:
        return None
    file, _, cache = text.partition("#")
    option = options.PYTHON_REQUIREMENTS
    return _require_existing(file, option), _require_existing(cache, option) if cache else ""


def _cached_file(text: str) -> CachedFile:
    pairs = (part.partition(":") for part in text.split(","))
    fields = {key.strip(): value.strip().strip("'\"") for key, _, value in pairs}
    if not fields.get("name") or not fields.get("path"):
        raise ConfigurationError(
            f"{options.CACHED_FILES.key} has {text!r}, without a name and a path",
            hint="name:data,path:/tmp/data.bin;name:…",
        )
    name = _require_inside(fields["name"], options.CACHED_FILES.key)
    path = _require_existing(fields["path"], options.CACHED_FILES)
    return CachedFile(path, name, fields.get("executable") == "true")


def _require_inside(name: str, option: str) -> str:
    """Check that a path stays within the working directory of functions, and return it."""
    normal = os.path.normpath(name)
    if os.path.isabs(normal) or normal.startswith("..") or normal == ".":
        raise ConfigurationError(
            f"{name!r} is not within the functions' working directory", where={"option": option}
        )
    return normal
