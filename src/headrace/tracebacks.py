"""Tracebacks without the frames of Headrace, pyspark and py4j.

These frames say nothing about a user's program. They are removed from tracebacks that reach the
user, unless the environment variable ``HEADRACE_FULL_TRACEBACK`` is set. If such a frame raised the
exception itself, this frame stays, except for errors of Headrace: their text says where they come
from.

A traceback from another process is rebuilt from the locations of its frames.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType, TracebackType

from headrace.errors import HeadraceError

FULL_VARIABLE = "HEADRACE_FULL_TRACEBACK"

_LIBRARIES = frozenset({"headrace", "pyspark", "py4j"})
_PROGRAMS = ("headrace.demo", "headrace.cli.demo")
"""Modules of the package that are programs, like a user's."""


@dataclass(frozen=True)
class FrameLocation:
    """The module, file, line and function of a frame."""

    module: str
    file: str
    line: int
    name: str

    @property
    def is_library(self) -> bool:
        """Whether the frame is of a library, not of the user's program."""
        if self.file.startswith("<headrace"):
            return True  # a generated loop
        if self.module.startswith(_PROGRAMS):
            return False
        return self.module.partition(".")[0] in _LIBRARIES


def wants_full_tracebacks() -> bool:
    """Return whether the user wants all frames."""
    return os.environ.get(FULL_VARIABLE, "") not in ("", "0")


def _find_location(entry: TracebackType) -> FrameLocation:
    frame = entry.tb_frame
    code = frame.f_code
    module = str(frame.f_globals.get("__name__", ""))
    return FrameLocation(module, code.co_filename, entry.tb_lineno, code.co_name)


def _traceback_entries(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _link_entries(entries: list[TracebackType]) -> TracebackType | None:
    result: TracebackType | None = None
    for entry in reversed(entries):
        result = TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result


def trimmed_traceback(error: BaseException) -> TracebackType | None:
    """Return the exception's traceback without frames of libraries."""
    entries = [*_traceback_entries(error.__traceback__)]
    if wants_full_tracebacks() or not entries:
        return error.__traceback__
    remaining = [entry for entry in entries if not _find_location(entry).is_library]
    if remaining[-1:] != entries[-1:] and not isinstance(error, HeadraceError):
        remaining.append(entries[-1])
    return _link_entries(remaining)


def trim_tracebacks(error: BaseException) -> BaseException:
    """Trim the tracebacks of an exception, its causes and contexts in place, and return it.

    The cause of an error of Headrace is removed if it has no frame of the user: the error's text
    says what it was.
    """
    if wants_full_tracebacks():
        return error
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        each = pending.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        each.__traceback__ = trimmed_traceback(each)
        origin = each.__cause__ or each.__context__
        if isinstance(each, HeadraceError) and not _has_user_frame(origin):
            each.__cause__, each.__suppress_context__ = None, True  # its text says what it was
        pending += [each.__cause__, None if each.__suppress_context__ else each.__context__]
    return error


def _has_user_frame(error: BaseException | None) -> bool:
    """Return whether a frame of the exception is neither a library's nor the interpreter's."""
    return error is not None and any(map(_is_user_code, frame_locations(error.__traceback__)))


def _is_user_code(location: FrameLocation) -> bool:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    stdlib_folders = tuple(os.path.join(sysconfig.get_path(name), "") for name in names)
    installed = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
    return (
        not location.is_library
        and not location.file.startswith(stdlib_folders)
        and not any(part in location.file for part in installed)
    )


def frames_after_user_code(trace: TracebackType | None) -> int:
    """Return the number of frames after the last frame of the user's code; 0 if there is none."""
    for after, location in enumerate(reversed(frame_locations(trace))):
        if _is_user_code(location):
            return after
    return 0


def format_error(error: BaseException) -> str:
    """Return the text that Python prints for an uncaught exception, without frames of libraries."""
    return "".join(traceback.format_exception(trim_tracebacks(error)))


def frame_locations(trace: TracebackType | None) -> list[FrameLocation]:
    """Return the locations of a traceback's frames, outermost first."""
    return [_find_location(entry) for entry in _traceback_entries(trace)]


def rebuild_traceback(locations: list[FrameLocation]) -> TracebackType | None:
    """Create a traceback with frames at the given locations, which come from another process."""
    result: TracebackType | None = None
    for location in reversed(locations):
        frame = _frame_at(location)
        result = TracebackType(result, frame, frame.f_lasti, location.line)
    return result


def _frame_at(location: FrameLocation) -> FrameType:
    """Make a frame that has this location, from generated code."""
    code = compile("frame = this_frame()", location.file, "exec")
    # A line table without columns, as Python would underline parts of this line, not the user's.
    # It has an entry of the kind "no column" for every 8 instructions (CPython's locations.md).
    entries = -(-len(code.co_code) // 16)
    code = code.replace(
        co_name=location.name,
        co_qualname=location.name,
        co_firstlineno=location.line,
        co_linetable=bytes([0x80 | 13 << 3 | 7, 0]) * entries,
    )
    variables = {"__name__": location.module, "this_frame": sys._getframe}
    exec(code, variables)
    frame = variables["frame"]
    assert isinstance(frame, FrameType)
    return frame


def install_excepthook() -> None:
    """Print uncaught exceptions of this process without frames of libraries."""
    previous_hook = sys.excepthook
    if getattr(previous_hook, "_of_headrace", False):
        return

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        trim_tracebacks(error)
        previous_hook(kind, error, error.__traceback__ if not wants_full_tracebacks() else trace)

    hook._of_headrace = True  # type: ignore[attr-defined]
    sys.excepthook = hook
