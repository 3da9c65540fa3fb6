"""What the documentation names is there: files, functions, tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))

_CODE = re.compile(r"`([\w/]+)\.py: ([\w.]+)`")
_FILE = re.compile(r"`((?:\w+/)+\w+\.py)`")
_TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::([\w:]+))?`")
_LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)(#[^)]*)?\)")


def by_page(pages: Iterable[Path], find: Callable[[Path], list[str]]) -> dict[str, list[str]]:
    """What was found in each page; pages without a finding are left out."""
    found = {str(page.relative_to(ROOT)): find(page) for page in pages}
    return {page: findings for page, findings in found.items() if findings}


def missing_code(page: Path) -> list[str]:
    text = page.read_text("utf-8")
    missing = []
    for path, name in _CODE.findall(text):
        found: Any = import_module("headrace." + path.replace("/", "."))
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is None:
            missing.append(f"{path}.py: {name}")
    for path in _FILE.findall(text):
        if not any((base / path).exists() for base in (ROOT, ROOT / "src" / "headrace")):
            missing.append(path)
    return missing


def test_code_that_is_named_is_there() -> None:
    assert by_page(PAGES, missing_code) == {}


def missing_tests(page: Path) -> list[str]:
    missing = []
    for path, name in _TEST.findall(page.read_text("utf-8")):
        file = ROOT / path
        if not file.exists():
            missing.append(path)
        elif name and not set(name.split("::")) <= defined_in(file):
            missing.append(f"{path}::{name}")
    return missing


def test_tests_that_are_named_are_there() -> None:
    assert by_page(PAGES, missing_tests) == {}


def dead_links(page: Path) -> list[str]:
    links = [path for path, _ in _LINK.findall(page.read_text("utf-8"))]
    return [path for path in links if not (page.parent / path).exists()]


def test_links_and_pictures_lead_to_files() -> None:
    pages = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "bench").glob("*.md")), *PAGES]
    assert by_page(pages, dead_links) == {}


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    patterns = set(re.findall(r"[\w/*-]+\.md", text)) - {"contributing.md", "changelog.md"}
    listed = {pattern: set(DOCS.glob(pattern)) for pattern in patterns}
    assert [pattern for pattern, pages in listed.items() if not pages] == []
    assert set().union(*listed.values()) == set(PAGES)


def test_the_index_of_decisions_lists_each_by_its_title() -> None:
    index = (DOCS / "adr" / "index.md").read_text("utf-8")
    decisions = {
        f"- [{page.read_text('utf-8').partition(chr(10))[0].removeprefix('# ')}]({page.name})"
        for page in (DOCS / "adr").glob("0*.md")
    }
    assert decisions == {line for line in index.splitlines() if line.startswith("- ")}


@cache
def defined_in(file: Path) -> set[str]:
    """The names of a file's functions and classes."""
    return {
        node.name
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
