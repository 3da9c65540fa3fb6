"""Writes docs/api-coverage.md: what of PyFlink's API works here, name by name.

    python scripts/api_table.py           write the page
    python scripts/api_table.py --check   say whether the page is up to date; exits 1 if it is not

Every name comes from the lists in src/headrace/cli/check and is looked up in the package, as
`headrace check` does.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from headrace.cli.check.catalogue import (
    ACCEPTED,
    DIFFERENCES,
    DIFFERS,
    LISTS,
    UNSUPPORTED,
    WORKS,
    Finding,
    MissingNameError,
    Name,
    find,
    find_in_package,
    read_names,
    text_of,
)

__all__ = [
    "DIFFERENCES",
    "Finding",
    "MissingNameError",
    "Name",
    "find",
    "find_in_package",
    "main",
    "names_of",
    "page",
    "parameter_problem",
    "read_names",
]

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # as a script it sees its own folder alone

from scripts.generated import write_or_check  # noqa: E402

APIS = ("DataStream API", "Table API")
"""What the lists have, in their order."""

PAGE = ROOT / "docs" / "api-coverage.md"


def parameter_problem(name: Name, found: Any) -> str | None:
    """How a method's parameters differ from PyFlink's, or None.

    They must have PyFlink's names, in its order, with defaults where PyFlink has them. More may
    follow, if they have defaults.
    """
    if name.parameters is None or (isinstance(found, property) and not name.parameters):
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


def names_of(api: str) -> list[Name]:
    """The names of one of ``APIS``."""
    return list(read_names(text_of(LISTS[APIS.index(api)])))


def page() -> str:
    """The page."""
    lines = [
        "# PyFlink's names",
        "",
        "<!-- Written by scripts/api_table.py; do not edit. -->",
        "",
    ]
    tables = []
    for api in APIS:
        findings = [(name, find(name)) for name in names_of(api)]
        lines += [_summary(api, [finding for _, finding in findings]), ""]
        tables += _tables(findings)
    more = (
        "[What works](capabilities.md) says what can be done on which runner; [SQL](how-to/sql.md)"
    )
    lines += [f"{more} what statements there are.", "", *tables]
    return "\n".join(lines)


def _summary(api: str, findings: list[Finding]) -> str:
    counts = {
        status: sum(finding.status == status for finding in findings)
        for status in (WORKS, ACCEPTED, DIFFERS, UNSUPPORTED)
    }
    parts = [
        f"{counts[WORKS]} work",
        f"{counts[ACCEPTED]} are accepted and need no effect here",
        f"{counts[DIFFERS]} differ",
        f"{counts[UNSUPPORTED]} are declared and say why they do not work when they are used",
    ]
    *first, last = [each for each in parts if not each.startswith("0 ")]
    return (
        f"Of {len(findings)} public names of PyFlink 2.3's {api}, {', '.join(first)}, and {last}."
    )


def _tables(findings: list[tuple[Name, Finding]]) -> list[str]:
    lines = []
    names = [name for name, _ in findings]
    for module in dict.fromkeys(name.module for name in names):
        lines += [f"## headrace.{module}", "", "| name | | reason |", "|---|---|---|"]
        lines += _rows([(n, f) for n, f in findings if n.module == module])
        lines.append("")
    return lines


def _is_function(name: Name) -> bool:
    return name.member is None and name.parameters is not None


def _rows(findings: list[tuple[Name, Finding]]) -> Iterator[str]:
    """One row for each class, status and reason; a class that fares as one shows no members."""
    functions = [each for each in findings if _is_function(each[0])]
    grouped: dict[tuple[str, str], list[str]] = {}
    for name, finding in functions:
        grouped.setdefault((finding.status, finding.reason), []).append(f"`{name.owner}`")
    for (status, reason), names in grouped.items():
        yield f"| functions: {', '.join(names)} | {status} | {reason} |"
    findings = [each for each in findings if not _is_function(each[0])]
    fares = {name.owner: finding for name, finding in findings if name.member is None}
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
    return write_or_check("api_table.py", {PAGE: page()}, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
