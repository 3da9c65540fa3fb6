"""Failures as the page shows them: without values of records, unless its reader may see them."""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass

from headrace.errors import (
    CheckpointError,
    ConfigurationError,
    MissingExtraError,
    PlanError,
    SparkEndedError,
    StorageError,
    UnsupportedError,
)
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
_VALUE_LINE = re.compile(r"^(\s*(?:record|key|value|element|window|row|message):\s*).*$", re.I)
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
    """Return an exception as it is shown; ``with_values``: with records, keys and messages.

    Without, only messages of errors that never contain values of records are shown.
    """
    notes = [line for note in getattr(error, "__notes__", []) for line in note.splitlines()]
    operator = next((found[1] for line in notes if (found := _OPERATOR_LINE.match(line))), "")
    message = str(error)
    if not with_values:
        notes = [_mask_line(line) for line in notes]
        if not isinstance(error, _WITHOUT_VALUES):
            message = MASK if message else ""
    name = f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")
    location = _user_location(error)
    frames = "".join(traceback.format_tb(error.__traceback__))
    head = "Traceback (most recent call last):\n" if frames else ""
    body = f"{name}: {message}" if message else name
    trace = "\n".join([f"{head}{frames}{body}", *notes])
    line = "" if location is None else f"{location.file}:{location.line} in {location.name}"
    return ShownFailure(name, message, line, _source_of(error), operator, trace)


def _mask_line(line: str) -> str:
    return _VALUE_LINE.sub(rf"\g<1>{MASK}", line)


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
