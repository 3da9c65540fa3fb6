"""Beam's matrix: answers follow from marks, and what is lacking is said."""

from __future__ import annotations

import pytest

from scripts import beam_matrix
from scripts.beam_matrix import Mark, Row, page
from scripts.capabilities import in_beam

ALL = ("local", "batch", "streaming")
ROWS = (Row("What", "ParDo", "`map`."), Row("When", "Timers", "Timers.", "Not in a batch."))


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beam_matrix, "ROWS", ROWS)


def rows_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("| W")]


def test_answers_follow_from_marks() -> None:
    par_do = Mark("What/ParDo", ALL, "`a.py::one`")
    timers = Mark("When/Timers", ("local",), "`b.py::two`")
    assert rows_of(page([par_do, timers])) == [
        "| What | ParDo | yes | `map`. | `a.py::one` |",
        "| When | Timers | partially | Timers. Not in a batch. Tests: local. | `b.py::two` |",
    ]
    assert "| When | Timers | no |" in page([par_do])
    assert "Of 2 rows: 1 yes, 0 partially, 1 no." in page([par_do])


def test_a_row_that_is_not_shown_on_every_runner_says_why() -> None:
    with pytest.raises(ValueError, match=r"What/ParDo is shown on \['local'\] alone"):
        page([Mark("What/ParDo", ("local",), "t::f")])


def test_a_mark_of_no_row_is_refused() -> None:
    with pytest.raises(ValueError, match="no row What/ParDont"):
        page([Mark("What/ParDont", ALL, "t::f")])


def test_a_mark_may_name_several_rows() -> None:
    mark = pytest.mark.beam("What/ParDo", "When/Timers", runners="local, batch").mark
    assert in_beam(mark, "t::f") == [
        Mark("What/ParDo", ("local", "batch"), "t::f"),
        Mark("When/Timers", ("local", "batch"), "t::f"),
    ]
    with pytest.raises(ValueError, match="t::f: beam"):
        in_beam(pytest.mark.beam(runners="local").mark, "t::f")
