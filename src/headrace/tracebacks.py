"""Tracebacks that begin with the user's own lines.

Frames of Headrace, of pyspark and of py4j say nothing about a user's program: they are taken out
of what reaches the user, unless the environment variable ``HEADRACE_FULL_TRACEBACK`` is set. An
exception that such a frame raised itself keeps that one frame, for it is the only witness; errors
of Headrace say where they come from in their text and keep none.

A traceback that comes from another process is made again from the places of its frames.
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
"""Parts of the package that are programs, like a user's."""


@dataclass(frozen=True)
class Place:
    """Where a frame stood: file, line and the name of its function; ``module`` is its module's."""

    module: str
    file: str
    line: int
    name: str

    @property
    def of_library(self) -> bool:
        """Whether it says nothing about the user's program."""
        if self.file.startswith("<headrace"):
            return True  # a generated loop
        if self.module.startswith(_PROGRAMS):
            return False
        return self.module.partition(".")[0] in _LIBRARIES


def is_full() -> bool:
    """Whether the user asked for every frame."""
    return os.environ.get(FULL_VARIABLE, "") not in ("", "0")


def _place(step: TracebackType) -> Place:
    frame = step.tb_frame
    code = frame.f_code
    module = str(frame.f_globals.get("__name__", ""))
    return Place(module, code.co_filename, step.tb_lineno, code.co_name)


def _steps(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _linked(steps: list[TracebackType]) -> TracebackType | None:
    result: TracebackType | None = None
    for step in reversed(steps):
        result = TracebackType(result, step.tb_frame, step.tb_lasti, step.tb_lineno)
    return result


def trimmed(error: BaseException) -> TracebackType | None:
    """The exception's traceback without the frames of libraries."""
    steps = [*_steps(error.__traceback__)]
    if is_full() or not steps:
        return error.__traceback__
    kept = [step for step in steps if not _place(step).of_library]
    if kept[-1:] != steps[-1:] and not isinstance(error, HeadraceError):
        kept.append(steps[-1])
    return _linked(kept)


def brief(error: BaseException) -> BaseException:
    """The same exception, it and those that it came from with their traceback ``trimmed``."""
    if is_full():
        return error
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        at = waiting.pop()
        if at is None or id(at) in seen:
            continue
        seen.add(id(at))
        at.__traceback__ = trimmed(at)
        if isinstance(at, HeadraceError) and not _is_the_users(at.__cause__ or at.__context__):
            at.__cause__, at.__suppress_context__ = None, True  # its text says what it was
        waiting += [at.__cause__, None if at.__suppress_context__ else at.__context__]
    return error


def _is_the_users(error: BaseException | None) -> bool:
    """Whether some frame of the exception is neither a library's nor the interpreter's."""
    return error is not None and any(map(_is_users_place, places_of(error.__traceback__)))


def _is_users_place(place: Place) -> bool:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    own = tuple(os.path.join(sysconfig.get_path(name), "") for name in names)
    installed = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
    return (
        not place.of_library
        and not place.file.startswith(own)
        and not any(part in place.file for part in installed)
    )


def steps_after_the_users(trace: TracebackType | None) -> int:
    """How many frames a traceback has after the innermost of the user's own; 0 if it has none."""
    for after, place in enumerate(reversed(places_of(trace))):
        if _is_users_place(place):
            return after
    return 0


def shown(error: BaseException) -> str:
    """What Python prints of an exception that nobody catches, from the user's lines on."""
    return "".join(traceback.format_exception(brief(error)))


def places_of(trace: TracebackType | None) -> list[Place]:
    """Where the frames of a traceback stand, the outermost first."""
    return [_place(step) for step in _steps(trace)]


def rebuilt(places: list[Place]) -> TracebackType | None:
    """A traceback with frames at these places, which were another process's."""
    result: TracebackType | None = None
    for place in reversed(places):
        frame = _frame_at(place)
        result = TracebackType(result, frame, frame.f_lasti, place.line)
    return result


def _frame_at(place: Place) -> FrameType:
    """A frame that says it is at that place: the file and the name of its code are made up."""
    code = compile("frame = this_frame()", place.file, "exec")
    # No columns: what Python would underline is this line, not the user's. An entry for every 8
    # instructions, each of the kind "no column", and on the first line (CPython's locations.md).
    entries = -(-len(code.co_code) // 16)
    code = code.replace(
        co_name=place.name,
        co_qualname=place.name,
        co_firstlineno=place.line,
        co_linetable=bytes([0x80 | 13 << 3 | 7, 0]) * entries,
    )
    variables = {"__name__": place.module, "this_frame": sys._getframe}
    exec(code, variables)
    frame = variables["frame"]
    assert isinstance(frame, FrameType)
    return frame


def print_briefly() -> None:
    """From here on an exception that nobody catches is printed from the user's lines on (once)."""
    before = sys.excepthook
    if getattr(before, "_of_headrace", False):
        return

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        brief(error)
        before(kind, error, error.__traceback__ if not is_full() else trace)

    hook._of_headrace = True  # type: ignore[attr-defined]
    sys.excepthook = hook
