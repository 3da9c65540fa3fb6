"""The table of capabilities: from marks to Markdown."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import beam_matrix, capabilities
from scripts.capabilities import Collector, Shown, collect, shown, table


def test_a_mark_says_name_and_runners() -> None:
    mark = pytest.mark.capability("Timers", runners="local, streaming").mark
    assert shown(mark, "t::f") == Shown("Timers", ("local", "streaming"), "t::f")


@pytest.mark.parametrize(
    "mark",
    [
        pytest.mark.capability(runners="local"),
        pytest.mark.capability("Timers"),
        pytest.mark.capability("Timers", runners="flink"),
    ],
)
def test_a_mark_that_says_less_or_more_is_refused(mark: pytest.MarkDecorator) -> None:
    with pytest.raises(ValueError, match="t::f"):
        shown(mark.mark, "t::f")


def test_tests_of_one_name_make_one_row() -> None:
    marks = [
        Shown("Timers", ("local",), "tests/a.py::one"),
        Shown("Files", ("batch",), "tests/b.py::two"),
        Shown("Timers", ("streaming",), "tests/a.py::one"),
        Shown("Timers", ("streaming",), "tests/c.py::three"),
    ]
    assert table(marks).splitlines() == [
        "|  | local | batch | streaming | shown by |",
        "|---|:-:|:-:|:-:|---|",
        "| Timers | ✓ |  | ✓ | `a.py::one`<br>`c.py::three` |",
        "| Files |  | ✓ |  | `b.py::two` |",
    ]


def project(root: Path, name: str, test: str) -> Path:
    # each with a name of its own: modules stay in this process
    (root / "tests").mkdir()
    (root / "tests" / f"test_{name}.py").write_text(f"import pytest\n{test}")
    (root / "pytest.ini").write_text(
        "[pytest]\naddopts = --import-mode=importlib\n"
        "markers =\n  capability(name, runners): a row\n"
    )
    return root


def test_skipped_and_failing_tests_show_nothing(tmp_path: Path) -> None:
    mark = "@pytest.mark.capability('{}', runners='local')\n"
    root = project(
        tmp_path,
        "marked",
        mark.format("a") + "def test_a(): pass\n"
        "@pytest.mark.skip(reason='no')\n" + mark.format("b") + "def test_b(): pass\n"
        "@pytest.mark.xfail\n" + mark.format("c") + "def test_c(): pass\n",
    )
    assert collect(root).shown == [Shown("a", ("local",), "tests/test_marked.py::test_a")]


def test_tests_that_cannot_be_collected_make_no_table(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"test_broken\.py"):
        collect(project(tmp_path, "broken", "raise ImportError\n"))


def test_stale_pages_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(capabilities, "ROOT", tmp_path)
    monkeypatch.setattr(capabilities, "PAGE", tmp_path / "capabilities.md")
    collector = Collector()
    collector.shown = [Shown("Timers", ("local",), "tests/a.py::one")]
    monkeypatch.setattr(capabilities, "collect", lambda: collector)
    monkeypatch.setattr(capabilities, "BEAM_PAGE", tmp_path / "beam-matrix.md")
    monkeypatch.setattr(beam_matrix, "ROWS", ())
    assert capabilities.main(["--check"]) == 1
    assert capsys.readouterr().out.count("out of date") == 2
    assert capabilities.main([]) == 0
    assert capabilities.main(["--check"]) == 0
    assert "| Timers | ✓ |  |  |" in capabilities.PAGE.read_text()
