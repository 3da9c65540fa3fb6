"""What a job's program is called, among the programs that came before it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.runtime.programs import job_of


@pytest.mark.parametrize(
    ("last", "copied", "now"),
    [
        ("", False, "one"),  # of an older build, which wrote down nothing
        ("", True, "one"),
        ("one", False, "one"),
        ("one-2", False, "one-2"),
        ("other", False, "one-1"),
        ("other-2", False, "one-3"),
        ("one", True, "one-1"),
        ("one-2", True, "one-3"),
    ],
)
def test_a_program_is_the_one_before_it_only_if_nothing_came_between(
    last: str, copied: bool, now: str
) -> None:
    program = replace(job_of(), fingerprint="one").as_successor_of(last, copied)
    assert program.identity == now
    assert program.as_successor_of(now) == program
