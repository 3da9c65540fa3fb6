"""The display of a job in a terminal and in a log."""

from __future__ import annotations

import io
import sys
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.runners.ui.lines import Span, shorten, text_width, to_ansi, to_rich
from headrace.runners.ui.live import LineLog, LiveView
from headrace.runners.ui.record import JobView
from headrace.runners.ui.terminal import (
    TerminalDisplay,
    job_lines,
    shows_live,
    status_line,
    summary,
)
from tests.unit.runners.ui.test_record import watched_views
from tests.unit.runners.ui.test_region import Screen
from tests.unit.runners.ui.watched import watch


def shown(view: JobView, width: int = 110, height: int = 40) -> list[str]:
    return ["".join(span.text for span in line) for line in job_lines(view, width, height)]


def test_the_display_has_figures_phases_and_operators() -> None:
    lines = shown(watched_views()[5])
    text = "\n".join(lines)
    assert lines[0].split()[:2] == ["RUNNING", "clicks"]
    for word in ("records/s in", "behind", "waiting", "plan", "read", "process", "commit"):
        assert word in text
    assert any(line.split()[:2] == ["sums", "50"] for line in lines)
    assert "seen 50" in text


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("height", [9, 12, 50])
def test_the_display_fits_the_terminal(width: int, height: int) -> None:
    view = watched_views()[5]
    lines = job_lines(view, width, height)
    assert len(lines) <= height
    for line in lines:
        plain = "".join(span.text for span in line)
        assert text_width(shorten(plain, width)) <= width
        assert "\n" not in to_ansi(line, width)


def test_what_does_not_fit_is_counted() -> None:
    lines = shown(watched_views()[5], height=10)
    assert any(line.strip().startswith("and ") and line.endswith(" more") for line in lines)


def test_a_notebook_gets_the_same_text() -> None:
    view = watched_views()[5]
    assert to_rich(job_lines(view, 110, 40)).plain.splitlines() == shown(view)


def test_wide_letters_count_twice() -> None:
    assert shorten("流处理系统", 5) == "流处…"
    assert shorten("flow", 4) == "flow"


def test_a_line_of_the_log_tells_what_is_going_on() -> None:
    line = status_line(watched_views()[5])
    assert line.startswith("headrace: 'clicks': 50 records in (")
    assert "50 waiting" in line and "micro-batch 4" in line and "behind" in line


def test_the_summary_tells_how_a_job_ended() -> None:
    assert "'clicks' finished after" in summary(watch().view())
    failed = summary(watch(function=lambda n: 1 // (50 - n)).view())
    assert "'clicks' failed after" in failed and "50 records in" in failed


def test_lines_come_now_and_then_and_not_twice() -> None:
    out, clock = io.StringIO(), [0.0]
    log = LineLog(out, 10, lambda: clock[0])
    for second in range(35):
        clock[0] = second
        log.update(lambda: "same" if clock[0] > 20 else f"at {clock[0]:.0f}")
    assert out.getvalue().splitlines() == ["at 10", "at 20", "same"]


def test_a_short_job_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    record = watch()
    assert capsys.readouterr().err == ""
    assert record.view().batch_count == 10


def test_a_terminal_is_shown_a_long_job(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    assert shows_live()

    def slow(n: int) -> int:
        time.sleep(0.02)
        return n

    record = watch()  # of a job that has ended: what the display looks at
    display = TerminalDisplay(record, live=True)
    watch(display, function=slow)
    assert "records/s in" in screen.getvalue()
    (last,) = [line for line in screen.lines if line]
    assert last.startswith("headrace: 'clicks' finished after")


@pytest.mark.parametrize("term", ["dumb"])
def test_a_terminal_without_a_cursor_gets_lines(term: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Screen())
    monkeypatch.setenv("TERM", term)
    assert not shows_live()


def test_two_views_share_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(sys, "stdout", screen)

    def named(name: str) -> LiveView:
        return LiveView(lambda width, height: [[Span(f"|{name}")]], delay_seconds=0)

    views = [named("one"), named("two")]
    for view in views:
        view.start()
    deadline = time.monotonic() + 10
    while screen.lines[:2] not in (["|one", "|two"], ["|two", "|one"]):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    print("printed")
    views[0].stop()
    views[1].stop()
    assert screen.lines == ["printed", ""]
    assert sys.stdout is screen


def test_user_metrics_take_several_lines() -> None:
    view = replace(watched_views()[5], figures={f"counter{n}": float(n) for n in range(40)})
    counted = [line for line in shown(view, width=80, height=60) if "counter" in line]
    assert len(counted) == 4
    assert all(len(line) <= 80 for line in counted)


class ZMQInteractiveShell:
    """Named as the shell of a notebook's kernel."""


def test_a_notebook_is_updated_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    updates: list[str] = []
    handle = SimpleNamespace(update=lambda text: updates.append(text.plain))

    def display(text: Any, display_id: bool) -> Any:
        assert display_id
        updates.append(text.plain)
        return handle

    for name, module in {
        "IPython": SimpleNamespace(get_ipython=ZMQInteractiveShell),
        "IPython.display": SimpleNamespace(display=display),
    }.items():
        monkeypatch.setitem(sys.modules, name, module)
    assert shows_live()
    view = LiveView(lambda width, height: [[Span(f"update {len(updates)}")]], delay_seconds=0)
    view.start()
    deadline = time.monotonic() + 10
    while len(updates) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    view.stop()
    assert updates[:2] == ["update 0\n", "update 1\n"]
