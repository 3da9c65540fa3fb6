"""Writes docs/api-coverage.md: what of PyFlink's API works here, name by name.

    python scripts/api_table.py           write the page
    python scripts/api_table.py --check   say whether the page is up to date; exits 1 if it is not

Every name comes from tests/unit/datastream/pyflink_names.txt and is looked up in the package.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

from headrace.common.accepted import accepted_reason
from headrace.common.unsupported import is_unsupported, reason_of

ROOT = Path(__file__).parents[1]
NAMES = ROOT / "tests" / "unit" / "datastream" / "pyflink_names.txt"
PAGE = ROOT / "docs" / "api-coverage.md"

WORKS, ACCEPTED, UNSUPPORTED = "works", "accepted, no effect", "unsupported"
DIFFERS = "differs"
_KEPT = "Kept; no effect"

_JVM = "it would give an object of Flink's JVM, and there is none"
_NESTED = "FileSink's for_ methods give builders; their classes stand beside it, not in it"
_ONE_NAME = "its parameter is called obj in every type"

DIFFERENCES = {
    "datastream.connectors.base.Source.init": "a Source is a class to derive from",
    "datastream.connectors.base.Sink.init": "a Sink is a class to derive from",
    "datastream.connectors.base.StreamTransformer": _JVM,
    "datastream.connectors.base.SupportsPreprocessing": _JVM,
    "datastream.connectors.file_system.FileSink.get_transformer": _JVM,
    "datastream.connectors.file_system.FileSink.BaseBuilder": _NESTED,
    "datastream.connectors.file_system.FileSink.BulkFormatBuilder": _NESTED,
    "datastream.connectors.file_system.FileSink.RowFormatBuilder": _NESTED,
    "datastream.output_tag.OutputTag.get_java_output_tag": _JVM,
    "common.types.RowKind.to_j_row_kind": _JVM,
    "common.typeinfo.DateTypeInfo.to_internal_type": _ONE_NAME,
    "common.typeinfo.DateTypeInfo.from_internal_type": _ONE_NAME,
    "common.typeinfo.TimeTypeInfo.to_internal_type": _ONE_NAME,
    "common.typeinfo.TimeTypeInfo.from_internal_type": _ONE_NAME,
    "common.typeinfo.TimestampTypeInfo.to_internal_type": _ONE_NAME,
    "common.typeinfo.TimestampTypeInfo.from_internal_type": _ONE_NAME,
}
"""Names (a class with its members) that are not there, or have other parameters, and why."""


@dataclass(frozen=True)
class Name:
    """A line of the list: ``parameters`` is None for classes and enum members."""

    module: str
    owner: str
    member: str | None = None
    parameters: tuple[str, ...] | None = None

    def __str__(self) -> str:
        path = f"{self.module}.{self.owner}"
        return path if self.member is None else f"{path}.{self.member}"

    @property
    def difference(self) -> tuple[str, str] | None:
        """The entry of DIFFERENCES that speaks of this name, or None."""
        for path in (str(self), f"{self.module}.{self.owner}"):
            if path in DIFFERENCES:
                return path, DIFFERENCES[path]
        return None


@dataclass(frozen=True)
class Finding:
    """What was found under a name: the object, and whether it works."""

    found: Any
    status: str
    reason: str = ""


class MissingNameError(LookupError):
    """A name of PyFlink's that is neither there nor declared."""


def read_names(text: str) -> Iterator[Name]:
    """The names of the list, in its order."""
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        module, _, rest = line.partition(" ")
        path, bracket, parameters = rest.partition("(")
        if bracket:
            owner, _, member = path.rpartition(".")
            given = parameters.rstrip(")").split(", ") if parameters != ")" else []
            yield Name(module, owner, member, tuple(given))
        elif "." in path and not path.rpartition(".")[2][:1].isupper():
            raise ValueError(f"{line!r}: a method without parameters in brackets")
        else:
            yield Name(module, path)


def find(name: Name) -> Finding:
    """Look a name up, or what DIFFERENCES says of it.

    Raises:
        MissingNameError: it is not there.
    """
    if name.difference is not None:
        return Finding(None, DIFFERS, name.difference[1])
    return find_in_package(name)


def find_in_package(name: Name) -> Finding:
    """Look a name up.

    Raises:
        MissingNameError: it is not there.
    """
    try:
        owner: Any = import_module(f"headrace.{name.module}")
    except ModuleNotFoundError as error:
        raise MissingNameError(f"{name}: {error}") from None
    reason: str | None = None
    for part in name.owner.split("."):
        if is_unsupported(owner):
            return Finding(owner, UNSUPPORTED, reason_of(owner))
        owner = _attribute(owner, part, name)
        reason = accepted_reason(owner) or reason
    if is_unsupported(owner):
        return Finding(owner, UNSUPPORTED, reason_of(owner))
    found = owner
    if name.member is not None and name.member != "init":
        found = _attribute(owner, name.member, name)
        if is_unsupported(found):
            return Finding(found, UNSUPPORTED, reason_of(found))
        reason = accepted_reason(found) or _kept_reason(found) or reason
    return Finding(found, ACCEPTED, reason) if reason else Finding(found, WORKS)


def _attribute(owner: Any, part: str, name: Name) -> Any:
    try:
        return getattr(owner, part)
    except AttributeError as error:
        raise MissingNameError(f"{name}: {error}") from None


def _kept_reason(method: Any) -> str | None:
    doc = inspect.getdoc(method) or ""
    if not doc.startswith(_KEPT):
        return None
    return doc.partition("\n")[0].removeprefix(_KEPT).strip(" :.") or "it concerns Flink's JVM"


def parameter_problem(name: Name, found: Any) -> str | None:
    """How a method's parameters differ from PyFlink's, or None.

    They must have PyFlink's names, in its order, with defaults where PyFlink has them. More may
    follow, if they have defaults.
    """
    if name.parameters is None:
        return None
    try:
        have = [p for p in inspect.signature(found).parameters.values() if p.name != "self"]
    except (TypeError, ValueError) as error:
        return f"its signature cannot be read: {error}"
    for wanted in name.parameters:
        if not have:
            return f"{wanted} is missing"
        parameter = have.pop(0)
        bare = wanted.rstrip("=").lstrip("*")
        if parameter.name != bare:
            return f"{wanted} is called {parameter.name}"
        if wanted.startswith("*") != (parameter.kind is parameter.VAR_POSITIONAL):
            return f"{wanted} differs in kind"
        if wanted.endswith("=") and parameter.default is parameter.empty:
            return f"{wanted} has no default"
    needed = [p for p in have if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    return f"{needed[0].name} is needed beside PyFlink's" if needed else None


def page(names: list[Name]) -> str:
    """The page."""
    findings = [(name, find(name)) for name in names]
    counts = {
        status: sum(finding.status == status for _, finding in findings)
        for status in (WORKS, ACCEPTED, DIFFERS, UNSUPPORTED)
    }
    lines = [
        "# What works",
        "",
        "<!-- Written by scripts/api_table.py; do not edit. -->",
        "",
        f"Of {len(names)} public names of PyFlink 2.3's DataStream API, {counts[WORKS]} work,"
        f" {counts[ACCEPTED]} are accepted and need no effect here, {counts[DIFFERS]} differ, and"
        f" {counts[UNSUPPORTED]} are declared and say why they do not work when they are used.",
        "",
    ]
    for module in dict.fromkeys(name.module for name in names):
        lines += [f"## headrace.{module}", "", "| name | | reason |", "|---|---|---|"]
        lines += _rows([(n, f) for n, f in findings if n.module == module])
        lines.append("")
    return "\n".join(lines)


def _rows(findings: list[tuple[Name, Finding]]) -> Iterator[str]:
    """One row for each class, status and reason; a class that fares as one shows no members."""
    fares = {name.owner: finding for name, finding in findings if name.parameters is None}
    for owner in dict.fromkeys(name.owner for name, _ in findings):
        outer = fares.get(owner.rpartition(".")[0])
        if outer is not None and (
            isinstance(fares[owner].found, Enum) or outer.status in (UNSUPPORTED, DIFFERS)
        ):
            continue  # its class's row speaks for it
        groups: dict[tuple[str, str], list[str]] = {}
        for name, finding in findings:
            if name.owner == owner:
                members = groups.setdefault((finding.status, finding.reason), [])
                if name.member is not None:
                    members.append("(constructor)" if name.member == "init" else name.member)
        for (status, reason), members in groups.items():
            text = f"`{owner}`"
            if len(groups) > 1 and members:
                text += ": " + ", ".join(f"`{member}`" for member in members)
            yield f"| {text} | {status} | {reason} |"


def main(arguments: list[str]) -> int:
    """Write or check the page."""
    text = page(list(read_names(NAMES.read_text("utf-8"))))
    if arguments != ["--check"]:
        PAGE.write_text(text, "utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text("utf-8") == text:
        return 0
    print(f"{PAGE.relative_to(ROOT)} is out of date: run python scripts/api_table.py")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
