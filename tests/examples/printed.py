"""What an example prints, and what its page shows."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run_locally(name: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Run an example as ``headrace run`` does, on the local runner, in a folder of its own."""
    program = str(ROOT / "examples" / f"{name}.py")
    monkeypatch.setattr(sys, "argv", [program, "--local"])
    monkeypatch.chdir(folder)
    runpy.run_path(program, run_name="__main__")


def shown_output(name: str) -> str:
    """The first block of text on an example's page."""
    page = (ROOT / "docs" / "examples" / f"{name}.md").read_text("utf-8")
    return page.partition("```text\n")[2].partition("```\n")[0]
