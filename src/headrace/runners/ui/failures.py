"""Failures for the page; values of records are hidden unless the reader may see them."""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace

from headrace.errors import (
    CheckpointError,
    ConfigurationError,
    MissingExtraError,
    PlanError,
    SparkEndedError,
    StorageError,
    UnsupportedError,
)
from headrace.runners.ui.program_secrets import hide_in_program
from headrace.runners.ui.secrets import hide_in_text
from headrace.tracebacks import FrameLocation, frame_locations

MASK = "(hidden: open the page with headrace.ui.token)"
_WITHOUT_VALUES = (
    CheckpointError,
    ConfigurationError,
    MissingExtraError,
    PlanError,
    SparkEndedError,
    StorageError,
    UnsupportedError,
)
_VALUE_LINE = re.compile(r"^(?:record|key|window):\s*")
_LINES_WITHOUT_VALUES = re.compile(
    r"(?:operator|source|sink): .*\(uid=.*"
    r"|(?:hint:     |log:      |replay:   )\S.*"
    r"|captured: (?!nothing).*"
    r"|time:\s+-?\d+ ms"
    r"|while a Kafka record was deserialized: topic .*"
)
"""The lines of our own notes. Of any other note, such as a function's, nothing is shown."""
_OPERATOR_LINE = re.compile(r"^(?:operator|source|sink):\s*(.*?)\s*\(uid=")


@dataclass(frozen=True)
class ShownFailure:
    """An exception on the page.

    ``line``: the line of the user's code that raised, as ``file:line in function``, or empty.
    ``source``: that line's text. ``operator``: the name of the operator at work, or empty.
    """

    name: str
    message: str
    line: str
    source: str
    operator: str
    stacktrace: str


def show_failure(error: BaseException, with_values: bool) -> ShownFailure:
    """Return an exception for the page.

    ``with_values``: whether to show records, keys and all messages. If False, only the messages of
    errors that never contain values of records are shown, and passwords are hidden in them and in
    lines of the program.
    """
    notes = [line for note in getattr(error, "__notes__", []) for line in note.splitlines()]
    operator = next((found[1] for line in notes if (found := _OPERATOR_LINE.match(line))), "")
    message = _message_of(error)
    if not with_values:
        notes = _without_values(notes)
        if not isinstance(error, _WITHOUT_VALUES):
            message = MASK if message else ""
    name = f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")
    location = _user_location(error)
    lines = traceback.format_tb(error.__traceback__)
    frames = "".join(lines if with_values else map(hide_in_program, lines))
    head = "Traceback (most recent call last):\n" if frames else ""
    body = f"{name}: {message}" if message else name
    texts = [body, *notes]
    trace = head + frames + "\n".join(texts if with_values else map(hide_in_text, texts))
    line = "" if location is None else f"{location.file}:{location.line} in {location.name}"
    shown = ShownFailure(name, message, line, _source_of(error), operator, trace)
    if with_values:
        return shown
    return replace(
        shown,
        message=hide_in_text(message),
        source=hide_in_program(shown.source),
    )


def _message_of(error: BaseException) -> str:
    """Return an exception's text; a user's class may have none."""
    try:
        return str(error)
    except Exception as other:
        return f"(it has no text: {type(other).__name__})"


def _without_values(lines: Sequence[str]) -> list[str]:
    """Return lines of notes, with those hidden that may have a value of a record."""
    shown: list[str] = []
    for line in lines:
        if _LINES_WITHOUT_VALUES.fullmatch(line):
            shown.append(line)
        elif (label := _VALUE_LINE.match(line)) is not None:
            shown.append(f"{label[0]}{MASK}")
        elif not shown or not shown[-1].endswith(MASK):  # otherwise it is part of that value
            shown.append(MASK)
    return shown


def _user_location(error: BaseException) -> FrameLocation | None:
    """Return the innermost frame of the user's program."""
    found = [each for each in frame_locations(error.__traceback__) if not each.is_library]
    return found[-1] if found else None


def _source_of(error: BaseException) -> str:
    location = _user_location(error)
    if location is None:
        return ""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if (frame.filename, frame.lineno) == (location.file, location.line):
            return frame.line or ""
    return ""
