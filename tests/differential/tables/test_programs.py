"""The programs on Headrace, against what PyFlink 2.3 showed. PyFlink is not needed here."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable

import pytest

from tests.differential.tables.corpus import GOLDENS, Run, load, modules, named

pytestmark = pytest.mark.differential

OPTIONS = {
    "execution.target": "local",
    "parallelism.default": "1",
    "table.local-time-zone": "UTC",
}
RECORDED = {each["program"]: each for each in map(json.loads, GOLDENS.read_text().splitlines())}

# Programs that show something else, each with its reason. The marks are strict.
DEVIATIONS = {
    "columns/conditions_and_nulls": "CASE of texts that are never NULL may be NULL here",
    "creating/a_statement_makes_a_table": "a schema does not show formulas of computed columns",
    "creating/from_elements_with_intervals": "an interval has no precision",
    "streams/upserts": "PyFlink does not read the mode where no schema is given",
    "windows/tumbling": "borders of windows are NOT NULL, and their names count from 1",
}


def capture(function: Callable[[], object]) -> str:
    """Return what a call prints."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        function()
    return printed.getvalue()


def marks(program: str) -> list[pytest.MarkDecorator]:
    reason = DEVIATIONS.get(program)
    return [] if reason is None else [pytest.mark.xfail(reason=reason, strict=True)]


@pytest.mark.parametrize(
    "program", [pytest.param(each, marks=marks(each)) for each in sorted(RECORDED)]
)
def test_a_program_shows_what_pyflink_shows(program: str) -> None:
    module, _, name = program.partition("/")
    run = Run("headrace", OPTIONS, capture)
    with named(program):
        load(module, "headrace")[name](run)
    assert run.shown == RECORDED[program]["shown"]


def test_all_programs_are_recorded() -> None:
    known = {f"{module}/{name}" for module in modules() for name in load(module, "headrace")}
    assert set(RECORDED) <= known
    assert len(RECORDED) > 50
