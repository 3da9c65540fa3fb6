"""The mutants of ``tests/mutants``: what they change, and the copy that holds them all."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.sites import SWITCH, copy_with, draw, sites

SOURCE = '''\
def f(n: int = 3, *, name="x") -> str:
    """Says how far."""
    total = 0
    total += (
        n
    )
    print(total)
    if n < 2 and not name:
        raise ValueError(f"{n + 1}")
    return "far" if total in (1, 2) else "near"


LIMIT = 4 + 4
'''


def test_what_can_be_changed() -> None:
    found = {(line, right, wrong) for line, _, _, right, wrong in sites(SOURCE)}
    assert found == {
        (3, "0", "1"),
        (4, "total += (\n        n\n    )", None),
        (7, "print(total)", None),
        (8, "n < 2 and not name", "((n < 2) or (not name))"),
        (8, "n < 2", "((n) <= (2))"),
        (8, "2", "3"),
        (8, "not name", "bool(name)"),
        (
            10,
            '"far" if total in (1, 2) else "near"',
            "(('near') if (total in (1, 2)) else ('far'))",
        ),
        (10, "total in (1, 2)", "((total) not in ((1, 2)))"),
        (10, "1", "2"),
        (10, "2", "3"),
    }


@pytest.fixture
def source(tmp_path: Path) -> Path:
    package = tmp_path / "src" / "package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(SOURCE)
    return tmp_path / "src"


def test_a_seed_draws_the_same_mutants_and_none_overlap(source: Path) -> None:
    mutants = draw(source, ["package"], 100, 7)
    assert mutants == draw(source, ["package"], 100, 7) != draw(source, ["package"], 100, 8)
    ends = sorted((mutant.start, mutant.end) for mutant in mutants)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(ends))


def test_one_copy_has_all_mutants(source: Path, tmp_path: Path) -> None:
    mutants = draw(source, ["package"], 100, 7)
    copy_with(mutants, source, tmp_path / "copy")
    text = (tmp_path / "copy" / "package" / "__init__.py").read_text()
    assert len(text.splitlines()) == len(SOURCE.splitlines())
    assert (tmp_path / "copy" / f"{SWITCH}.py").exists()

    def given(mutant: int | None) -> str:
        environment = {} if mutant is None else {"HEADRACE_MUTANT": str(mutant)}
        command = [sys.executable, "-c", "import package; print(package.f(2))"]
        done = subprocess.run(
            command, cwd=tmp_path / "copy", env=environment, capture_output=True, text=True
        )
        return done.stdout

    assert given(None) == "2\nfar\n"
    by_line = {mutant.line: given(mutant.number) for mutant in mutants}
    assert by_line[4] == "0\nnear\n" and by_line[7] == "far\n"
