"""A skip for something missing is a failure in CI, and a skip elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.conftest import missing_becomes_failure

ROOT = Path(__file__).parents[2]

INSIDE = """
import pytest

def test_server():
    pytest.skip("missing: a server, start one")

@pytest.mark.skipif(True, reason="missing: a tool")
def test_tool():
    pass

def test_by_choice():
    pytest.skip("not on this platform")
"""
MODULE = """
import pytest
pytest.skip("missing: a library", allow_module_level=True)
"""


@pytest.mark.slow
def test_missing_is_a_failure_in_ci(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text((ROOT / "tests/conftest.py").read_text())
    (tmp_path / "test_inside.py").write_text(INSIDE)
    (tmp_path / "test_module.py").write_text(MODULE)
    options = ["-p", "no:cacheprovider", "--continue-on-collection-errors"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, f"--rootdir={tmp_path}", str(tmp_path)],
        env={**os.environ, "CI": "true", "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    closing = done.stdout.splitlines()[-1]
    assert done.returncode == 1
    # A mark is judged before the test starts, and a module when it is collected: errors.
    assert "1 failed, 1 skipped, 2 errors" in closing, done.stdout
    assert "missing: a server, start one (a failure in CI)" in done.stdout


@pytest.mark.parametrize(("environ", "outcome"), [({"CI": "true"}, "failed"), ({}, "skipped")])
def test_ci_decides_what_missing_is(environ: dict[str, str], outcome: str) -> None:
    report = SimpleNamespace(
        skipped=True, outcome="skipped", longrepr=("test.py", 3, "Skipped: missing: a server")
    )
    missing_becomes_failure(report, environ)
    assert report.outcome == outcome
