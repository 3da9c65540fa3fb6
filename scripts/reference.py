"""Writes docs/reference: a page for each public module, with its names and how to import them.

    python scripts/reference.py           write the pages
    python scripts/reference.py --check   say which are out of date; exits 1 if any is

Public is what ``__all__`` names in a module whose path has no underscore. mkdocstrings puts the
signatures and docstrings in when the site is built. A name that several modules have is described
on one page; the others link to it. So is a method that a class inherits: with the public class that
has it, or, where only internal classes have it, with each class that inherits from them.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import EnumMeta
from importlib import import_module
from pathlib import Path
from typing import Any

from headrace.common._unsupported import is_unsupported, reason_of

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # as a script it sees its own folder alone

from scripts.generated import write_or_check  # noqa: E402

SOURCE = ROOT / "src" / "headrace"
PAGES = ROOT / "docs" / "reference"
SQL_FUNCTIONS = PAGES / "sql-functions.md"  # scripts/sql_functions.py writes it

PACKAGES = ("cep", "common", "datastream", "metrics", "testing")
MODULES = ("__init__", "connector", "errors")

_WIDTH = 80
_DOCSTRING_ALONE = (
    "members: false",
    "show_root_heading: false",
    "show_root_toc_entry: false",
)


@dataclass(frozen=True)
class PublicName:
    """A name of a module's ``__all__``, and the module on whose page it is described."""

    module: str
    name: str
    found: Any
    home: str

    @property
    def refusal(self) -> str | None:
        """Why it does not work here, or None."""
        return reason_of(self.found) if is_unsupported(self.found) else None

    @property
    def anchor(self) -> str:
        """What a link to its description names: its heading, or for a refused name the page."""
        return self.home if self.refusal is not None else f"{self.home}.{self.name}"


def public_modules() -> Iterator[Path]:
    """The files of the public modules."""
    yield from (SOURCE / f"{module}.py" for module in MODULES)
    for package in PACKAGES:
        for path in sorted((SOURCE / package).rglob("*.py")):
            parts = path.relative_to(SOURCE).parts
            if not any(part.startswith("_") for part in parts if part != "__init__.py"):
                yield path


def module_name(path: Path) -> str:
    """What a file is imported as."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def declared(path: Path) -> list[str]:
    """A module's ``__all__``, sorted."""
    return sorted(import_module(module_name(path)).__all__, key=str.lower)


def public_names() -> list[PublicName]:
    """Every public name, as often as a module has it."""
    files = {module_name(path): path for path in public_modules()}
    objects = {
        (module, name): getattr(import_module(module), name)
        for module, path in files.items()
        for name in declared(path)
    }
    homes: dict[tuple[str, int], list[str]] = {}
    for (module, name), found in objects.items():
        homes.setdefault((name, id(found)), []).append(module)
    packages = {module for module, path in files.items() if path.name == "__init__.py"}
    return [
        PublicName(
            module=module,
            name=name,
            found=found,
            home=_home(found, homes[name, id(found)], packages),
        )
        for (module, name), found in objects.items()
    ]


def _home(found: Any, modules: list[str], packages: set[str]) -> str:
    """Where it is defined, if that is public; else a module, rather than a package."""
    defined = getattr(found, "__module__", None)
    if defined in modules:
        return str(defined)
    return min(modules, key=lambda module: (module in packages, module.count(".")))


def pages() -> dict[Path, str]:
    """The text of every page."""
    names = public_names()
    public = {each.found for each in names if isinstance(each.found, type)}
    found: dict[Path, str] = {}
    for file in public_modules():
        module = module_name(file)
        if here := [each for each in names if each.module == module]:
            found[page_of(file)] = _page(module, here, public)
    return found


def page_of(module: Path) -> Path:
    """The page of a module's file: at the same path, an ``index.md`` for a package."""
    page = PAGES / module.relative_to(SOURCE).with_suffix(".md")
    return page.with_name("index.md") if module.name == "__init__.py" else page


def _page(module: str, names: list[PublicName], public: set[type]) -> str:
    here = [each for each in names if each.home == module and each.refusal is None]
    refused = [each for each in names if each.home == module and each.refusal is not None]
    elsewhere = [each for each in names if each.home != module]
    parts = [
        f"# {module}",
        "<!-- Written by scripts/reference.py; do not edit. -->",
        f"```python\n{import_line(module, [each.name for each in names])}\n```",
        _directive(module, *_DOCSTRING_ALONE),
        *(_directive(f"{module}.{each.name}", *_options(each.found, public)) for each in here),
    ]
    if elsewhere:
        rows = [f"| [`{each.name}`][{each.anchor}] | `{each.home}` |" for each in elsewhere]
        parts.append("## Names that are described elsewhere")
        parts.append("\n".join(["| name | described in |", "|---|---|", *rows]))
    if refused:
        rows = [f"| `{each.name}` | {each.refusal} |" for each in refused]
        parts.append("## Names that raise `UnsupportedError` when they are used")
        parts.append("\n".join(["| name | reason |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def _directive(path: str, *options: str) -> str:
    lines = ["    options:", *(f"      {option}" for option in options)] if options else []
    return "\n".join([f"::: {path}", *lines])


def _options(found: Any, public: set[type]) -> Iterator[str]:
    if isinstance(found, EnumMeta):
        yield "show_if_no_docstring: true"
    elif isinstance(found, type) and (inherited := from_internal(found, public)):
        yield f"inherited_members: [{', '.join(inherited)}]"


def from_internal(kind: type, public: set[type]) -> list[str]:
    """What a class has from internal classes alone, and what of it has a docstring."""
    bases = [base for base in kind.__mro__[1:] if base.__module__.startswith("headrace.")]
    names = {name for base in bases if base not in public for name in vars(base)}
    found = []
    for name in sorted(names - vars(kind).keys()):
        member = inspect.getattr_static(kind, name)
        described = any(
            inspect.getattr_static(base, name, None) is member for base in bases if base in public
        )
        if not name.startswith("_") and not described and member.__doc__:
            found.append(name)
    return found


def import_line(module: str, names: list[str]) -> str:
    """The import of names, in several lines where one would be too long."""
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= _WIDTH:
        return line
    lines, rest = [], [f"{name}," for name in names]
    while rest:
        line = "   "
        while rest and len(line) + 1 + len(rest[0]) <= _WIDTH:
            line += f" {rest.pop(0)}"
        lines.append(line)
    return "\n".join([f"from {module} import (", *lines, ")"])


def main(arguments: list[str]) -> int:
    """Write or check the pages."""
    present = {*PAGES.rglob("*.md")} - {SQL_FUNCTIONS}
    return write_or_check("reference.py", pages(), arguments, present=present)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
