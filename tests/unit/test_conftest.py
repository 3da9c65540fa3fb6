"""What is missing is a failure in CI; which worker takes which tests, and which are marked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import conftest, drawn
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


class Item(SimpleNamespace):
    """A collected test."""

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        self.marks[mark.name] = mark

    def get_closest_marker(self, name: str) -> Any:
        return self.marks.get(name)


def item(name: str, *fixtures: str, **marks: pytest.MarkDecorator) -> Item:
    path = Path(name.partition("::")[0])
    return Item(nodeid=name, path=path, fixturenames=fixtures, marks=marks)


def marked(monkeypatch: pytest.MonkeyPatch, *items: Item, by_group: bool = False) -> list[Item]:
    monkeypatch.setattr(conftest, "long_tests", lambda: {"b.py::test_long"})
    monkeypatch.setattr(drawn, "pools", lambda: {"b.py::test_many": drawn.Pool("many", 3)})
    config: Any = SimpleNamespace(option=SimpleNamespace(loadgroup=by_group))
    found: list[Any] = [*items]
    conftest.pytest_collection_modifyitems(config, found)
    return found


def test_a_worker_takes_a_file_or_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    own = pytest.mark.xdist_group("own")
    found = marked(
        monkeypatch,
        item("a.py::test_one"),
        item("a.py::test_kafka", "kafka_server", "tmp_path"),
        item("b.py::test_own", xdist_group=own),
    )
    assert [each.marks["xdist_group"].args[0] for each in found] == ["a.py", "kafka", "own"]


def test_groups_with_most_long_tests_are_first(monkeypatch: pytest.MonkeyPatch) -> None:
    given = item("a.py::test_one"), item("b.py::test_two"), item("b.py::test_long[1]")
    assert [each.nodeid for each in marked(monkeypatch, *given)] == [each.nodeid for each in given]
    found = marked(monkeypatch, *given, by_group=True)
    assert [each.nodeid[0] for each in found] == ["b", "b", "a"]
    assert [each for each in found if "long" in each.marks] == [given[2]]


@pytest.mark.parametrize(("seed", "proofs"), [("17", 4), (drawn.ALL, 6)])
def test_what_is_not_drawn_is_a_proof(
    seed: str, proofs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(drawn.VARIABLE, seed)
    found = marked(monkeypatch, *(item(f"b.py::test_many[{n}]") for n in range(6)))
    assert sum("proof" in each.marks for each in found) == proofs
