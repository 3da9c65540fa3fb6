"""Each public name is described on one page of the reference, below the line that imports it."""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path

from headrace.common._unsupported import reason_of
from scripts import reference

MODULES = [path for path in reference.public_modules() if reference.declared(path)]
PAGES = sorted({*reference.PAGES.rglob("*.md")} - {reference.SQL_FUNCTIONS})
_DIRECTIVE = re.compile(r"^::: ([\w.]+)\.(\w+)$", re.MULTILINE)
_REFUSED = re.compile(r"^\| `(\w+)` \| (.+) \|$", re.MULTILINE)
_CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@cache
def described() -> dict[tuple[str, int], list[Path]]:
    """The pages on which each object stands, under a name; equal objects are one."""
    found: dict[tuple[str, int], list[Path]] = {}
    for page in PAGES:
        text = page.read_text("utf-8")
        module = text.partition("\n")[0].removeprefix("# ")
        names = [*_DIRECTIVE.findall(text), *((module, name) for name, _ in _REFUSED.findall(text))]
        for home, name in names:
            described_object = getattr(import_module(home), name, None)
            found.setdefault((name, id(described_object)), []).append(page)
    return found


def test_the_pages_are_in_step() -> None:
    assert reference.main(["--check"]) == 0


def test_each_public_name_is_described_on_one_page() -> None:
    found = {}
    for path in MODULES:
        module = import_module(reference.module_name(path))
        for name in reference.declared(path):
            pages = described().get((name, id(getattr(module, name))), [])
            found[f"{module.__name__}.{name}"] = pages
    assert {name: pages for name, pages in found.items() if len(pages) != 1} == {}


def test_a_modules_page_shows_the_import_of_its_names() -> None:
    for path in MODULES:
        code = _CODE.search(reference.page_of(path).read_text("utf-8"))
        assert code is not None, path
        (statement,) = ast.parse(code[1]).body
        assert isinstance(statement, ast.ImportFrom), path
        assert statement.module == reference.module_name(path)
        assert {alias.name for alias in statement.names} == set(reference.declared(path)), path


def test_names_that_do_not_work_say_why() -> None:
    rows = [
        (name, reason, reason_of(getattr(import_module(text.partition("\n")[0][2:]), name)))
        for text in (page.read_text("utf-8") for page in PAGES)
        for name, reason in _REFUSED.findall(text)
    ]
    assert len(rows) > 40
    assert [row for row in rows if row[1] != row[2]] == []


class _Internal:
    def shown(self) -> None:
        """Do something."""

    def bare(self) -> None: ...


class _Public(_Internal):
    pass


class _Derived(_Public):
    pass


_Internal.__module__ = _Public.__module__ = _Derived.__module__ = "headrace.sample"


def test_a_method_is_described_with_the_first_public_class_that_has_it() -> None:
    public: set[type] = {_Public, _Derived}
    assert reference.from_internal(_Public, public) == ["shown"]
    assert reference.from_internal(_Derived, public) == []
