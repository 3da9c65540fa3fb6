"""Failures on the page show no values of records, unless the reader may see them."""

from __future__ import annotations

import weakref

import pytest

from headrace.errors import CheckpointError, DecodeError
from headrace.runners.ui.failures import MASK, show_failure
from tests.unit.runners.ui.watched import watch

SECRET = 41


def fails(value: int) -> int:
    if value == SECRET:
        raise ValueError(f"card number {value} of {value} is refused")
    return value


def failure(with_values: bool) -> str:
    (found,) = watch(function=fails).failures
    shown = found.shown(with_values)
    return "\n".join([shown.name, shown.message, shown.line, shown.source, shown.stacktrace])


def test_without_the_token_no_value_is_shown() -> None:
    shown = failure(False)
    assert str(SECRET) not in shown.replace("test_failures.py", "")
    assert MASK in shown


def test_with_the_token_all_is_shown() -> None:
    shown = failure(True)
    assert "card number 41" in shown and "record:   41" in shown


class Speechless(ValueError):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_an_exception_without_a_text_is_shown() -> None:
    shown = show_failure(Speechless(), True)
    assert shown.name.endswith(".Speechless") and shown.message == "(it has no text: RuntimeError)"


class Held:
    """What a failed attempt holds."""


def test_what_a_failed_attempt_held_is_not_kept() -> None:
    held = weakref.ref(kept := Held())
    record = watch()

    def fails(state: Held) -> None:
        raise ValueError("of this attempt")

    try:
        fails(kept)
    except ValueError as error:
        record.on_failure(error, 10)
    del kept
    assert held() is None
    assert "in fails" in record.failures[-1].shown(True).line


def test_the_line_and_the_operator_are_shown_to_all() -> None:
    (found,) = watch(function=fails).failures
    shown = found.shown(False)
    assert shown.name == "ValueError"
    assert "test_failures.py:" in shown.line and shown.line.endswith(" in fails")
    assert shown.source.startswith("raise ValueError(")
    assert shown.operator == "mapped"


@pytest.mark.parametrize(
    "note",
    [
        "the row that was refused: (SECRET, 1)",
        "the record: SECRET",
        "record:   matrix([[1],\n        SECRET])",
        "key:      SECRET",
        "http://lookup/SECRET was tried again for 3 s",
        "and abort() failed: ValueError: SECRET",
        "captured: nothing, as that failed too: PicklingError: SECRET",
        "what a function says of SECRET",
    ],
)
def test_a_note_shows_no_value(note: str) -> None:
    error = ValueError("refused")
    error.add_note(f"operator: parse (uid=none), built at job.py:3\n{note}\ntime:     17 ms")
    shown = show_failure(error, False).stacktrace
    assert "SECRET" not in shown and shown.count(MASK) == 2
    assert "parse (uid=none), built at job.py:3" in shown and shown.endswith("time:     17 ms")
    assert "SECRET" in show_failure(error, True).stacktrace


@pytest.mark.parametrize("with_values", [False, True])
def test_a_message_of_ours_without_values_is_shown(with_values: bool) -> None:
    error = CheckpointError("the checkpoint is damaged", where={"file": "offsets/3"})
    assert "damaged" in show_failure(error, with_values).message


def test_a_message_of_ours_with_values_is_hidden() -> None:
    shown = show_failure(DecodeError("b'secret' is no JSON"), False)
    assert "secret" not in shown.stacktrace + shown.message


class OnTwoLines(str):
    def __repr__(self) -> str:
        return f"<{self[:5]}\n{self[5:]}>"


def test_notes_of_functions_and_libraries_are_hidden() -> None:
    def fails(value: str) -> str:
        error = ValueError("refused")
        error.add_note("the row that was refused: ('anna', 4711)")
        error.add_note(f"source: {value}\nhint: {value}")
        raise error

    found = watch(function=fails, values=[OnTwoLines("anna 4711")])  # type: ignore[arg-type, list-item]
    shown = found.failures[0].shown(False).stacktrace
    assert "operator: mapped (uid=" in shown and f"record:   {MASK}" in shown
    assert "anna" not in shown and "4711" not in shown
    whole = found.failures[0].shown(True).stacktrace
    assert "('anna', 4711)" in whole and "hint: anna 4711" in whole
