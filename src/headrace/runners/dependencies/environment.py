"""Makes an archive of a program and its dependencies, for machines with only Python and Spark.

    bin/python       a script: runs the machine's Python of the right version with these packages
    site-packages/   Headrace, the packages that it and the program need, without pyspark
    program/         the program, and the modules next to it

Spark extracts the archive on each machine, wherever its working folder is.
"""

from __future__ import annotations

import ast
import io
import json
import os
import re
import sys
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib.machinery import PathFinder
from importlib.metadata import Distribution, PackageNotFoundError, packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import headrace
from headrace.errors import ConfigurationError

ENVIRONMENT_VARIABLE = "HEADRACE_ENVIRONMENT"
"""Environment variable: the folder of the extracted archive, if a process runs in it."""

LAUNCHER = "bin/python"
PACKAGES = "site-packages"
PROGRAM = "program"

_OF_SPARK = frozenset({"pyspark", "py4j"})
_EXTRAS_NOT_SENT = frozenset({"dev", "java"})
_COMPRESSION = 1  # higher levels take minutes longer, for an archive that is a tenth smaller
# A third of the files of the largest packages.
_NOT_NEEDED = re.compile(
    r"(?:pandas|numpy|pyarrow)/(?:.+/)?tests/|(?:pyarrow|numpy/_core)/include/|\.(?:pyx|pxd|a)$"
    r"|\.dist-info/direct_url\.json$"  # it contains a path of this machine
)

_SCRIPT = """\
#!/bin/sh
# Runs Python {version} with the packages of this folder; HEADRACE_PYTHON names another path of it.
folder=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd -P)
export {variable}="$folder"
export PYTHONPATH="$folder/{packages}:$folder/{program}${{PYTHONPATH:+:$PYTHONPATH}}"
for python in ${{HEADRACE_PYTHON:+"$HEADRACE_PYTHON"}} python{version} python3; do
    found=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
    [ "$found" = {version} ] && exec "$python" "$@"
done
echo "headrace: Python {version} is not on the path of $(uname -n)" >&2
exit 127
"""


@dataclass
class Content:
    """The content of an archive: packages by name and version, and the program's files."""

    packages: dict[str, str] = field(default_factory=dict)
    modules: list[Path] = field(default_factory=list)


def make_environment(
    program: Path, target: Path, added: Iterable[str] = (), left_out: Iterable[str] = ()
) -> Content:
    """Write the archive of a program, and return its content.

    ``added``: names of packages that the program imports by name at run time. ``left_out``: names
    of packages that the executors have.

    Raises:
        ConfigurationError: there is no such program, or a package is not installed here.
    """
    if not program.is_file():
        raise ConfigurationError(f"there is no program at {program}")
    modules, roots = find_modules(program)
    by_module = packages_distributions()
    named = {name for root in roots for name in by_module.get(root, ())}
    extras = _installed_extras()
    wanted = [f"headrace[{','.join(extras)}]" if extras else "headrace", *sorted(named), *added]
    skipped = {canonicalize_name(name) for name in left_out} | _OF_SPARK
    distributions = find_distributions(wanted, skipped)
    draft = target.with_name(f"{target.name}.{os.getpid()}")
    try:
        with tarfile.open(draft, "w:gz", compresslevel=_COMPRESSION) as tar:
            _add_text(tar, LAUNCHER, _launcher(), 0o755)
            for path in modules:
                tar.add(path, f"{PROGRAM}/{path.name}", filter=_without_caches)
            for distribution in distributions.values():
                for inside, path in _files_of(distribution):
                    tar.add(path, f"{PACKAGES}/{inside}", recursive=False)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    return Content({name: found.version for name, found in distributions.items()}, modules)


def _launcher() -> str:
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return _SCRIPT.format(
        version=version, variable=ENVIRONMENT_VARIABLE, packages=PACKAGES, program=PROGRAM
    )


def _add_text(tar: tarfile.TarFile, name: str, text: str, mode: int) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(text.encode()), mode
    tar.addfile(info, io.BytesIO(text.encode()))


def _without_caches(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if "__pycache__" in info.name else info


def find_modules(program: Path) -> tuple[list[Path], set[str]]:
    """Return the program's files, and the names of the other modules that they import.

    The files are the program, the modules next to it that it imports, and those that these import.
    A package next to the program is a folder.
    """
    folder = str(program.resolve().parent)
    found: dict[Path, None] = {program.resolve(): None}
    others: set[str] = set()
    pending = [program.resolve()]
    while pending:
        for root in _imported_roots(pending.pop()):
            spec = PathFinder.find_spec(root, [folder])
            if spec is None:
                others.add(root)
                continue
            folders = [Path(each) for each in spec.submodule_search_locations or ()]
            paths = folders or [Path(str(spec.origin))]
            for path in paths:
                if path not in found:
                    found[path] = None
                    pending += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return list(found), others


def _imported_roots(path: Path) -> Iterator[str]:
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except SyntaxError as error:
        raise ConfigurationError(f"{path} cannot be parsed: {error}") from None
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _installed_extras() -> list[str]:
    """Return the extras of Headrace whose packages are all installed."""
    distribution = _distribution("headrace")
    declared = set(distribution.metadata.get_all("Provides-Extra") or ())
    required = [Requirement(text) for text in distribution.requires or ()]

    def is_installed(extra: str) -> bool:
        needed = [each for each in required if each.marker and _applies(each, {extra})]
        needed = [each for each in needed if not _applies(each, set())]
        return all(_is_installed(each.name) for each in needed)

    return sorted(extra for extra in declared - _EXTRAS_NOT_SENT if is_installed(extra))


def _is_installed(name: str) -> bool:
    try:
        Distribution.from_name(name)
    except PackageNotFoundError:
        return False
    return True


def _applies(requirement: Requirement, extras: set[str]) -> bool:
    if requirement.marker is None:
        return True
    return any(requirement.marker.evaluate({"extra": extra}) for extra in (extras or {""}))


def _distribution(name: str) -> Distribution:
    try:
        return Distribution.from_name(name)
    except PackageNotFoundError:
        raise ConfigurationError(
            f"the program needs the package {name!r}, which is not installed here",
            hint=f"pip install {name}, or --without {name} if the executors have it",
        ) from None


def find_distributions(wanted: Iterable[str], skipped: Iterable[str]) -> dict[str, Distribution]:
    """Return the packages that requirements name, and their own requirements, by name.

    Raises:
        ConfigurationError: a package is not installed.
    """
    skipped = {canonicalize_name(name) for name in skipped}
    found: dict[str, Distribution] = {}
    done: set[tuple[str, frozenset[str]]] = set()
    pending = [Requirement(text) for text in wanted]
    while pending:
        requirement = pending.pop()
        name, extras = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if name in skipped or (name, extras) in done:
            continue
        done.add((name, extras))
        found[name] = _distribution(requirement.name)
        for text in found[name].requires or ():
            needed = Requirement(text)
            if _applies(needed, {"", *extras}):
                pending.append(needed)
    return dict(sorted(found.items()))


def _files_of(distribution: Distribution) -> Iterator[tuple[str, Path]]:
    """Yield the files of a package: the path below ``site-packages``, and the path here."""
    editable = _is_editable(distribution)
    for entry in distribution.files or ():
        inside = entry.as_posix()
        if inside.startswith("..") or _NOT_NEEDED.search(inside):
            continue
        is_information = ".dist-info/" in inside
        if not editable or is_information:
            path = Path(str(distribution.locate_file(entry)))
            if path.is_file():
                yield inside, path
    if editable:
        for folder in _folders_of(distribution):
            for path in sorted(folder.rglob("*")):
                inside = path.relative_to(folder.parent).as_posix()
                if path.is_file() and not _NOT_NEEDED.search(inside):
                    yield inside, path


def _is_editable(distribution: Distribution) -> bool:
    text = distribution.read_text("direct_url.json")
    return bool(text and json.loads(text).get("dir_info", {}).get("editable"))


def _folders_of(distribution: Distribution) -> Iterator[Path]:
    """Yield the folders of the packages of an editable install."""
    if canonicalize_name(distribution.name) == "headrace":
        yield Path(headrace.__file__).parent
        return
    for root, names in packages_distributions().items():
        if distribution.name in names:
            spec = PathFinder.find_spec(root)
            yield from map(Path, (spec and spec.submodule_search_locations) or ())
