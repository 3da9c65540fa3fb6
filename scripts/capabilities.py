"""Writes what works, by runner: docs/capabilities.md; and by Beam's rows: docs/beam-matrix.md.

    python scripts/capabilities.py           write both
    python scripts/capabilities.py --check   say whether they are up to date; exits 1 if not

Nothing is listed by hand. A test says what it shows with a mark, and the tests are collected:

    @pytest.mark.capability("Event-time timers", runners="local, batch, streaming")

The rows of Beam's matrix are in ``scripts/beam_matrix.py``. A test that is marked to be skipped or
expected to fail shows nothing.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # as a script it sees its own folder alone

from scripts import beam_matrix  # noqa: E402
from scripts.generated import write_or_check  # noqa: E402

PAGE = ROOT / "docs" / "capabilities.md"
BEAM_PAGE = ROOT / "docs" / "beam-matrix.md"

RUNNERS = ("local", "batch", "streaming")
_SHOWS_NOTHING = frozenset({"skip", "xfail"})

_INTRODUCTION = """\
# What works

<!-- Written by scripts/capabilities.py; do not edit. -->

Each row stands for the tests named in it, and they pass: `make test` and `make test-long` run
them. *Local* is one plain Python process, *batch* is a Spark batch job, *streaming* is a Spark
Structured Streaming query. An empty cell has no test. What is not there at all stands in
[Limits](limits.md); whether a name of PyFlink's works, in [PyFlink's names](api-coverage.md).
"""


@dataclass(frozen=True)
class Shown:
    """One mark on one test: ``test`` is ``path::function``."""

    name: str
    runners: tuple[str, ...]
    test: str


class Collector:
    """A pytest plugin that reads the marks of collected tests and runs none of them."""

    def __init__(self) -> None:
        self.shown: list[Shown] = []
        self.beam: list[beam_matrix.Mark] = []
        self.failures: list[str] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Take the marks of the tests that were found."""
        for item in items:
            names = {mark.name for mark in item.iter_markers()}
            if names & _SHOWS_NOTHING:
                continue
            test = item.nodeid.partition("[")[0]
            row = ""
            for mark in item.iter_markers("capability"):
                self.shown.append(shown(mark, test))
                row = f"[{self.shown[-1].name}]({PAGE.name})"
            for mark in item.iter_markers("beam"):
                self.beam += in_beam(mark, row or f"`{test.removeprefix('tests/')}`")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note what could not be collected."""
        if report.failed:
            self.failures.append(report.nodeid)


def shown(mark: Any, test: str) -> Shown:
    """What a mark says.

    Raises:
        ValueError: it lacks the name, or names another runner than there is.
    """
    if len(mark.args) != 1 or set(mark.kwargs) != {"runners"}:
        raise ValueError(f"{test}: capability(name, runners=…) is wanted, not {mark}")
    return Shown(mark.args[0], _runners(mark, test), test)


def in_beam(mark: Any, test: str) -> list[beam_matrix.Mark]:
    """What a mark says of rows of Beam's matrix.

    Raises:
        ValueError: it names no row, or another runner than there is.
    """
    if not mark.args or set(mark.kwargs) != {"runners"}:
        raise ValueError(f"{test}: beam(row, …, runners=…) is wanted, not {mark}")
    return [beam_matrix.Mark(row, _runners(mark, test), test) for row in mark.args]


def _runners(mark: Any, test: str) -> tuple[str, ...]:
    runners = tuple(part.strip() for part in mark.kwargs["runners"].split(","))
    unknown = [runner for runner in runners if runner not in RUNNERS]
    if unknown:
        raise ValueError(f"{test}: {unknown} is none of {RUNNERS}")
    return runners


def collect(root: Path = ROOT) -> Collector:
    """The marks of all tests below ``root``, in the order of the tests.

    Raises:
        SystemExit: tests cannot be collected, so the table would lack rows.
    """
    collector = Collector()
    # Without the look for what no test raised, which collects garbage five times at the end.
    unneeded = ["-p", "no:cacheprovider", "-p", "no:unraisableexception"]
    options = ["--collect-only", "-qq", *unneeded, "--rootdir", str(root)]
    with redirect_stdout(io.StringIO()):
        status = pytest.main([*options, str(root / "tests")], [collector])
    if status != pytest.ExitCode.OK or collector.failures:
        found = ", ".join(collector.failures) or f"pytest ended with {status!r}"
        raise SystemExit(f"tests cannot be collected: {found}")
    return collector


def table(shown: Iterable[Shown]) -> str:
    """The Markdown table: one row per capability, in the order of their first test."""
    rows: dict[str, list[Shown]] = {}
    for each in shown:
        rows.setdefault(each.name, []).append(each)
    lines = [_row(["", *RUNNERS, "shown by"]), "|---" + "|:-:" * len(RUNNERS) + "|---|"]
    for name, marks in rows.items():
        ticks = ("✓" if _runs(marks, runner) else "" for runner in RUNNERS)
        tests = dict.fromkeys(mark.test.removeprefix("tests/") for mark in marks)
        lines.append(_row([name, *ticks, "<br>".join(f"`{test}`" for test in tests)]))
    return "\n".join(lines)


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _runs(marks: Iterable[Shown], runner: str) -> bool:
    return any(runner in mark.runners for mark in marks)


def page(shown: list[Shown]) -> str:
    """The page."""
    return f"{_INTRODUCTION}\n{table(shown)}\n"


def main(arguments: list[str]) -> int:
    """Write or check the files."""
    collected = collect()
    wanted = {PAGE: page(collected.shown), BEAM_PAGE: beam_matrix.page(collected.beam)}
    return write_or_check("capabilities.py", wanted, arguments, ROOT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
