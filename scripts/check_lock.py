"""Is the lock in step with pyproject.toml? Says what is not, and exits 1.

Reads files only: no index is asked, uv is not needed. Every requirement of pyproject.toml (its
dependencies, extras, groups and build system) must be pinned to a version that fits; the locks
must not pin anything for pyproject.toml that it no longer asks for; every pin carries a hash;
nothing in a lock says where packages come from. A lock for another Spark takes the place of
dev.txt, so it is checked as that is. The locks of the benchmark's peers are checked for the last
two only, each by itself.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

_PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(?:\[[^]]*\])?==(?P<version>[^\s;\\]+)")
_ORIGIN = re.compile(r"\S+ \(pyproject\.toml(:[\w-]+)?\)")


@dataclass(frozen=True)
class Pin:
    """One pinned version in one lock; ``asked`` when pyproject.toml itself asks for it."""

    name: str
    version: Version
    file: str
    hashes: int
    asked: bool


def requirements(project: dict[str, Any]) -> Iterator[tuple[str, Requirement]]:
    """Every requirement of a pyproject.toml, with the table it stands in."""
    tables = {"dependencies": project.get("project", {}).get("dependencies", [])}
    for extra, lines in project.get("project", {}).get("optional-dependencies", {}).items():
        tables[f"extra {extra}"] = lines
    for group, lines in project.get("dependency-groups", {}).items():
        tables[f"group {group}"] = lines
    tables["build-system"] = project.get("build-system", {}).get("requires", [])
    for table, lines in tables.items():
        for line in lines:
            yield table, Requirement(line)


def pins(file: str, text: str) -> list[Pin]:
    """The pins of one lock, each read from its line and the indented lines below it."""
    found: list[Pin] = []
    for entry in re.split(r"\n(?=\S)", text):
        if match := _PIN.match(entry):
            found.append(
                Pin(
                    name=canonicalize_name(match["name"]),
                    version=Version(match["version"]),
                    file=file,
                    hashes=entry.count("--hash=sha256:"),
                    asked=_ORIGIN.search(entry) is not None,
                )
            )
    return found


def problems(project: dict[str, Any], locks: dict[str, str]) -> list[str]:
    """What is out of step, one line each; ``locks`` maps file names to their text."""
    all_pins = [pin for file, text in locks.items() for pin in pins(file, text)]
    by_name: dict[str, list[Pin]] = {}
    for pin in all_pins:
        by_name.setdefault(pin.name, []).append(pin)
    said = []
    wanted = set()
    for table, requirement in requirements(project):
        name = canonicalize_name(requirement.name)
        wanted.add(name)
        if name not in by_name:
            said.append(f"{requirement} ({table}) is in no lock")
        # A universal lock may hold several pins of one package, each under its own marker.
        for pin in by_name.get(name, []):
            if not requirement.specifier.contains(pin.version, prereleases=True):
                said.append(f"{requirement} ({table}): {pin.file} pins {pin.version}")
    for pin in all_pins:
        if pin.asked and pin.name not in wanted:
            said.append(f"{pin.file} pins {pin.name}, which pyproject.toml no longer asks for")
        if not pin.hashes:
            said.append(f"{pin.file} has no hash for {pin.name}")
    for package, same in sorted(by_name.items()):
        # Installed one after the other, the second lock would undo the first.
        per_file = {frozenset(p.version for p in same if p.file == file) for file in locks}
        if len(per_file - {frozenset()}) > 1:
            said.append(f"{package} is pinned to different versions in different locks")
    for file, text in locks.items():
        for number, line in enumerate(text.splitlines(), 1):
            if "://" in line or re.match(r"\s*(-i|-f|--[a-z-]*(index|find-links)\S*)\b", line):
                said.append(f"{file}:{number} says where packages come from: {line.strip()}")
    return said


def main(root: Path) -> int:
    """0 when the locks under ``root`` are in step, else 1; says which, and what to do."""
    project = tomllib.loads((root / "pyproject.toml").read_text())
    locks = {f"requirements/{p.name}": p.read_text() for p in (root / "requirements").glob("*.txt")}
    # The benchmark's peers each have an environment of their own: those locks never meet another.
    apart = {file: text for file, text in locks.items() if "/bench-" in file}
    sparks = {file: text for file, text in locks.items() if "/spark-" in file}
    ours = {file: text for file, text in locks.items() if file not in apart | sparks}
    said = problems(project, ours) if ours else ["there is no lock under requirements/"]
    for file, text in apart.items():
        said += problems({}, {file: text})
    for file, text in sparks.items():
        rest = {other: theirs for other, theirs in ours.items() if not other.endswith("/dev.txt")}
        said += problems(project, {**rest, file: text})
    for line in said:
        print(line, file=sys.stderr)
    if said:
        print("the lock is out of step: run `make lock`", file=sys.stderr)
        return 1
    print(
        f"lock in step: {sum(len(pins(*lock)) for lock in locks.items())} pins, {len(locks)} files"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main(Path(__file__).parent.parent))
