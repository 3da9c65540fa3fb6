"""What is drawn below a program's prints never mixes with them."""

from __future__ import annotations

import io
import re
import sys

import pytest

from headrace.runners.ui.region import Region


class Screen(io.StringIO):
    """A terminal of few commands: it keeps lines, and a cursor that goes up and erases."""

    def isatty(self) -> bool:
        return True

    @property
    def lines(self) -> list[str]:
        lines, row = [""], 0
        for command in re.findall(r"\x1b\[\??\d*[a-zA-Z]|[\r\n]|[^\x1b\r\n]+", self.getvalue()):
            if command == "\n":
                row += 1
                lines += [""] * (row + 1 - len(lines))
            elif command.endswith("A") and command[0] == "\x1b":
                row -= int(command[2:-1])
            elif command == "\x1b[J":
                lines[row:] = [""]
            elif command[0] not in "\r\x1b":
                # What is drawn begins its line; what is printed goes on with it.
                lines[row] = command if lines[row].startswith("|") else lines[row] + command
        return lines


def use_screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    shown = Screen()
    monkeypatch.setattr(sys, "stdout", shown)
    monkeypatch.setattr(sys, "stderr", shown)
    return shown


def test_what_is_printed_stays_above(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = use_screen(monkeypatch)
    region = Region(screen)
    region.open()
    region.draw(["|one", "|two"])
    print("printed")
    region.draw(["|one", "|three"])
    print("again", file=sys.stderr)
    assert screen.lines == ["printed", "again", "|one", "|three", ""]
    region.close()
    assert screen.lines == ["printed", "again", ""]
    assert sys.stdout is screen and sys.stderr is screen


def test_a_line_that_is_not_ended_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = use_screen(monkeypatch)
    region = Region(screen)
    region.open()
    region.draw(["|one"])
    sys.stdout.write("half ")
    region.draw(["|two"])
    region.restore()
    assert screen.lines == ["half "]
    sys.stdout.write("a line\n")
    assert screen.lines == ["half a line", "|two", ""]
    region.close()


def test_in_a_burst_the_region_is_drawn_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = use_screen(monkeypatch)
    region = Region(screen)
    region.open()
    region.draw(["|one"])
    for number in range(50):
        print(number)
    drawn = screen.getvalue().count("|one")
    assert 1 <= drawn <= 25
    region.restore()
    assert screen.lines[-3:] == ["49", "|one", ""]
    region.close()


def test_a_stream_that_is_no_terminal_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, file = Screen(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(sys, "stdout", file)
    region = Region(screen)
    region.open()
    region.draw(["|one"])
    print("into the file")
    region.close()
    assert file.getvalue() == "into the file\n"
    assert "into the file" not in screen.getvalue()


def test_a_stream_that_the_program_has_replaced_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = use_screen(monkeypatch)
    region = Region(screen)
    region.open()
    own = io.StringIO()
    sys.stdout = own
    region.close()
    assert sys.stdout is own
