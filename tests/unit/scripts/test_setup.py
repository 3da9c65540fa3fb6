"""The set-up script finds a Python that runs, or says what to do."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SETUP = Path(__file__).parents[3] / "scripts/setup.sh"


def program(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A path with what a set-up calls, and a python3 that is a shim leading nowhere."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program(folder / "rm", 'exec /bin/rm "$@"')
    program(folder / "python3", "echo 'command not found' >&2; exit 127")
    return folder


def set_up(path: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", SETUP, "venv"],
        cwd=path.parent,
        env={"PATH": str(path), **environ},
        capture_output=True,
        text=True,
    )


def test_none_that_runs(path: Path) -> None:
    done = set_up(path)
    assert done.returncode == 1
    assert "no Python 3.11 or newer was found" in done.stderr
    assert "make PYTHON=" in done.stderr


def test_a_named_one_that_does_not_fit_is_reported(path: Path) -> None:
    program(path / "python3.12", "exit 0")
    old = program(path / "old", "exit 1")
    done = set_up(path, PYTHON=str(old))
    assert done.returncode == 1
    assert f"PYTHON={old} is not a Python 3.11 or newer that runs" in done.stderr


def test_a_shim_that_leads_nowhere_is_passed_over(path: Path) -> None:
    answers = 'case $* in *venv*) exit 1;; --version) echo "Python 3.12.9";; esac'
    program(path / "python3.12", answers)
    done = set_up(path)
    assert "setting up venv with Python 3.12.9" in done.stdout
    assert done.returncode == 1
    assert "python3.12 cannot make virtual environments" in done.stderr
    assert "apt install python3-venv" in done.stderr
