"""Failures on the page show no values of records, unless the reader may see them."""

from __future__ import annotations

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
    shown = show_failure(found.error, with_values)
    return "\n".join([shown.name, shown.message, shown.line, shown.source, shown.stacktrace])


def test_without_the_token_no_value_is_shown() -> None:
    shown = failure(False)
    assert str(SECRET) not in shown.replace("test_failures.py", "")
    assert MASK in shown


def test_with_the_token_all_is_shown() -> None:
    shown = failure(True)
    assert "card number 41" in shown and "record:   41" in shown


def test_the_line_and_the_operator_are_shown_to_all() -> None:
    (found,) = watch(function=fails).failures
    shown = show_failure(found.error, False)
    assert shown.name == "ValueError"
    assert "test_failures.py:" in shown.line and shown.line.endswith(" in fails")
    assert shown.source.startswith("raise ValueError(")
    assert shown.operator == "mapped"


@pytest.mark.parametrize("with_values", [False, True])
def test_a_message_of_ours_without_values_is_shown(with_values: bool) -> None:
    error = CheckpointError("the checkpoint is damaged", where={"file": "offsets/3"})
    assert "damaged" in show_failure(error, with_values).message


def test_a_message_of_ours_with_values_is_hidden() -> None:
    shown = show_failure(DecodeError("b'secret' is no JSON"), False)
    assert "secret" not in shown.stacktrace + shown.message
