"""What the documentation shows runs, and prints what it says."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from tests.unit.docs.snippets import snippets

ROOT = Path(__file__).parents[3]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
RUNNABLE = [page for page in PAGES if "<!-- run -->" in page.read_text("utf-8")]
FIRST_PROGRAM = ROOT / "examples" / "first_program.py"


@pytest.fixture(autouse=True)
def local(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Programs that say nothing of their target run in this process, in a folder of their own."""
    original = StreamExecutionEnvironment.__init__

    def on_local_runner(self: Any, configuration: Configuration | None = None) -> None:
        original(self, configuration)
        self._configuration.set_string("execution.target", "local")

    monkeypatch.setattr(StreamExecutionEnvironment, "__init__", on_local_runner)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for snippet in snippets(page):
        exec(snippet.compiled(), namespace)
        printed = capsys.readouterr().out
        if snippet.prints is None:
            continue
        where = f"{page.name}:{snippet.line}"
        if snippet.ordered:
            assert printed == snippet.prints, where
        else:
            assert sorted(printed.splitlines()) == sorted(snippet.prints.splitlines()), where


def test_first_program(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(FIRST_PROGRAM), run_name="__main__")
    assert capsys.readouterr().out.splitlines() == [
        "bob: 1 clicks from 2000 to 2000 ms",
        "ann: 2 clicks from 1000 to 9000 ms",
        "bob: 1 clicks from 70000 to 70000 ms",
        "ann: 1 clicks from 95000 to 95000 ms",
    ]


@pytest.mark.parametrize("page", ["README.md", "docs/first-program.md"])
def test_first_program_is_shown_as_it_is(page: str) -> None:
    code = FIRST_PROGRAM.read_text("utf-8").partition("\n\n")[2]
    assert f"```python\n{code}```\n" in (ROOT / page).read_text("utf-8")


def test_a_mark_without_its_block_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- run -->\n```python\nx = 1\n```\n<!-- prints -->\nnothing\n")
    with pytest.raises(ValueError, match="without its block"):
        snippets(page)


def test_output_belongs_to_the_block_before_it(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- run -->\n```python\nx = 1\n```\n\n<!-- run -->\n```python\nprint(x)\n```\n\n"
        "<!-- prints in any order -->\n```text\n1\n```\n"
    )
    first, second = snippets(page)
    assert (first.line, first.prints) == (3, None)
    assert (second.line, second.prints, second.ordered) == (8, "1\n", False)
