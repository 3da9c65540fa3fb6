"""Each example prints what its page shows, and its page quotes it as it is."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = {page.stem: page for page in sorted((ROOT / "docs" / "examples").glob("*.md"))}
LOCAL = ["bus_positions", "retail_sales", "ski_lifts"]
"""Programs that run in this process when they are given ``--local``."""


def program_of(name: str) -> Path:
    return ROOT / "examples" / f"{name}.py"


@pytest.mark.parametrize("name", LOCAL)
def test_a_page_shows_what_its_program_prints(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--local"])
    runpy.run_path(str(program_of(name)), run_name="__main__")
    shown = re.findall(r"^```text\n(.*?)^```$", PAGES[name].read_text("utf-8"), re.M | re.S)
    assert capsys.readouterr().out == shown[0]
    for chart in tmp_path.glob("*.svg"):
        assert chart.read_text() == (ROOT / "docs" / "images" / chart.name).read_text()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_quotes_its_program(name: str) -> None:
    program = _lines(program_of(name).read_text("utf-8"))
    quoted = re.findall(r"^```python\n(.*?)^```$", PAGES[name].read_text("utf-8"), re.M | re.S)
    assert [block for block in quoted if _lines(block) not in program] == []


def _lines(text: str) -> str:
    """The lines without indentation: a method is quoted without its class."""
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())
